#include "eval/finished_parts.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::eval {
namespace {

using testing::has;
using testing::message_of;
using Numbers = FinishedParts::Numbers;

class FinishedPartsTest : public testing::FolderFixture {
 protected:
  [[nodiscard]] FinishedParts open(int rank = 0) const { return {in_folder("parts"), "pgd", rank}; }
  void write(const std::string& name, const std::string& content) const {
    std::filesystem::create_directories(in_folder("parts"));
    (void)file_with("parts/" + name, content);
  }
  [[nodiscard]] std::string problem() const {
    return message_of([&] { (void)open(); });
  }
};

TEST_F(FinishedPartsTest, ComeBackToTheBit) {
  constexpr auto kInfinity = std::numeric_limits<double>::infinity();
  const Numbers numbers = {0.1, -0.0, 1.0 / 3.0, 5e-324, 1.7976931348623157e308, kInfinity, -kInfinity, std::nan("")};
  open().add(7, numbers);
  const auto again = open();
  ASSERT_NE(again.find(7), nullptr);
  ASSERT_EQ(again.find(7)->size(), numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double found = (*again.find(7))[i];
    if (std::isnan(numbers[i])) {
      EXPECT_TRUE(std::isnan(found));
    } else {
      EXPECT_EQ(std::bit_cast<std::uint64_t>(found), std::bit_cast<std::uint64_t>(numbers[i])) << numbers[i];
    }
  }
  EXPECT_EQ(again.find(6), nullptr);
}

TEST_F(FinishedPartsTest, ThoseOfAllProcessesCountAndOthersEvaluationsDoNot) {
  open(0).add(0, {1.0});
  open(3).add(1, {2.0});
  write("fgsm.0.jsonl", "{\"part\":2,\"numbers\":[3.0]}\n");
  write("pgd.0.json", "{\"part\":3,\"numbers\":[3.0]}\n");
  const auto parts = open(1);
  EXPECT_EQ(*parts.find(0), Numbers{1.0});
  EXPECT_EQ(*parts.find(1), Numbers{2.0});
  EXPECT_EQ(parts.find(2), nullptr);
  EXPECT_EQ(parts.find(3), nullptr);
}

TEST_F(FinishedPartsTest, ALineThatWasBeingWrittenIsDroppedAndWrittenAnew) {
  write("pgd.0.jsonl", "{\"part\":0,\"numbers\":[1.0]}\n{\"part\":1,\"numbers\":[2.");
  {
    auto parts = open();
    EXPECT_EQ(*parts.find(0), Numbers{1.0});
    EXPECT_EQ(parts.find(1), nullptr);
    parts.add(1, {2.5});
  }
  EXPECT_EQ(testing::text_of(in_folder("parts/pgd.0.jsonl")),
            "{\"part\":0,\"numbers\":[1.0]}\n{\"part\":1,\"numbers\":[2.5]}\n");
}

TEST_F(FinishedPartsTest, AWholeLineWithoutItsEndIsNotTrusted) {
  write("pgd.0.jsonl", "{\"part\":0,\"numbers\":[1.0]}");
  EXPECT_EQ(open().find(0), nullptr);
}

TEST_F(FinishedPartsTest, AnotherProcessTornLineStaysAsItIs) {
  const std::string torn = "{\"part\":1,\"numbers\":[2.0]}\n{\"part\":3,";
  write("pgd.1.jsonl", torn);
  EXPECT_EQ(*open(0).find(1), Numbers{2.0});
  EXPECT_EQ(testing::text_of(in_folder("parts/pgd.1.jsonl")), torn);
}

TEST_F(FinishedPartsTest, GarbageIsNamedAndLeftAsItIs) {
  const std::string garbage = "{\"part\":0,\"numbers\":[1.0]}\n\x01\xff no line of ours\n";
  write("pgd.0.jsonl", garbage);
  EXPECT_TRUE(has(problem(), "pgd.0.jsonl\", line 2: expected a JSON object")) << problem();
  EXPECT_EQ(testing::text_of(in_folder("parts/pgd.0.jsonl")), garbage);
}

TEST_F(FinishedPartsTest, LinesOfAnotherKindAreNamed) {
  for (const char* line : {"{\"kind\":\"train\",\"step\":10}\n", "{\"part\":0}\n", "{\"part\":\"a\",\"numbers\":[]}\n",
                           "{\"part\":0,\"numbers\":[true]}\n", "{\"part\":0,\"numbers\":[[1.0]]}\n"}) {
    write("pgd.0.jsonl", line);
    EXPECT_TRUE(has(problem(), "pgd.0.jsonl\": expected lines with \"part\" and \"numbers\"")) << line;
    EXPECT_TRUE(has(problem(), "Remove the file to begin anew")) << line;
  }
}

TEST_F(FinishedPartsTest, WithoutAFolderNothingIsKept) {
  FinishedParts parts("", "pgd", 0);
  parts.add(2, {1.0});
  EXPECT_EQ(*parts.find(2), Numbers{1.0});
  EXPECT_FALSE(std::filesystem::exists("pgd.0.jsonl"));
}

}  // namespace
}  // namespace quest::eval
