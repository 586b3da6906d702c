#include "data/sets/time_series.h"

#include <torch/torch.h>

#include "data/formats/format_error.h"
#include "tests/data/packed.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

class TimeSeriesFiles : public quest::testing::FolderFixture {
 protected:
  [[nodiscard]] UeaFiles write(const std::string& train, const std::string& test) const {
    return {.name = "Toy", .train = file_with("Toy_TRAIN.ts", train), .test = file_with("Toy_TEST.ts", test)};
  }
  [[nodiscard]] static std::string reason(const UeaFiles& files) {
    return message_of([&] { static_cast<void>(load_time_series(files)); });
  }
};

TEST_F(TimeSeriesFiles, ArePaddedToTheLongestOfBothPartsAndEachScaledByItself) {
  const auto data = load_time_series(write("@data\n0,2:b\n4:10\n", "@data\n5,5,8:10\n"));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"10", "b"}));
  EXPECT_EQ(data.train.values.sizes(), (std::vector<std::int64_t>{2, 3, 1}));
  EXPECT_TRUE(data.train.values.flatten().allclose(torch::tensor({-1.0, 0.0, 0.0, 1.0, 0.0, 0.0}, at::kFloat)));
  EXPECT_TRUE(data.train.lengths.equal(torch::tensor({2, 1}, at::kLong)));
  EXPECT_TRUE(data.train.labels.equal(torch::tensor({1, 0}, at::kLong)));
  const double unit = std::sqrt(3.0);
  EXPECT_TRUE(data.test.values.flatten().allclose(torch::tensor({-1.0 / unit, -1.0 / unit, 2.0 / unit}, at::kFloat)));
  EXPECT_TRUE(data.test.labels.equal(torch::tensor({0}, at::kLong)));
}

TEST_F(TimeSeriesFiles, SayWhichFileIsWrong) {
  const auto unknown = reason(write("@data\n1:a\n", "@data\n1:b\n"));
  EXPECT_TRUE(has(unknown, "Toy_TEST.ts\": case 1: expected a class that the training cases have, found \"b\""));
  EXPECT_TRUE(has(reason(write("@data\n1:a\n", "@data\n1:2:a\n")), "Toy_TEST.ts\": expected 1 dimensions"));
  EXPECT_TRUE(
      has(reason(write("@data\n1:a\nx:a\n", "@data\n1:a\n")), "Toy_TRAIN.ts\": line 3: expected a finite number"));
}

class UeaArchive : public quest::testing::FolderFixture {
 protected:
  void add(const std::string& name) const {
    std::filesystem::create_directories(in_folder(name).parent_path());
    static_cast<void>(file_with(name, "@data\n1:a\n"));
  }
};

TEST_F(UeaArchive, FindsPairsOfFilesPlainAndPacked) {
  add("a/One_TRAIN.ts");
  add("a/One_TEST.ts.xz");
  add("b/Two/Two_TRAIN.ts.gz");
  add("b/Two/Two_TEST.ts");
  add("b/Half_TRAIN.ts");
  const std::vector folders = {in_folder("none"), in_folder("a"), in_folder("b")};
  EXPECT_EQ(find_uea("One", folders).value().test, in_folder("a/One_TEST.ts.xz"));
  EXPECT_EQ(find_uea("Two", folders).value().train, in_folder("b/Two/Two_TRAIN.ts.gz"));
  EXPECT_FALSE(find_uea("Half", folders));
  EXPECT_FALSE(find_uea("Three", folders));
  EXPECT_EQ(find_uea_in(in_folder("a")).value().name, "One");
  EXPECT_FALSE(find_uea_in(in_folder("b")));
  EXPECT_FALSE(find_uea_in(in_folder("none")));
  add("a/Other_TRAIN.ts");
  add("a/Other_TEST.ts");
  EXPECT_FALSE(find_uea_in(in_folder("a"))) << "two data sets: which one is meant?";
}

TEST_F(UeaArchive, SaysWhatIsWantedWhere) {
  const std::vector folders = {in_folder("a"), in_folder("b")};
  const auto message = how_to_get_uea("PEMS-SF", folders);
  EXPECT_TRUE(has(message, "PEMS-SF_TRAIN.ts"));
  EXPECT_TRUE(has(message, "PEMS-SF_TEST.ts"));
  EXPECT_TRUE(has(message, in_folder("b").string()));
}

TEST_F(UeaArchive, SaysWhyAFetchFailed) {
  const auto fetch = [&](const char* name, const std::string& python) {
    return message_of([&] { static_cast<void>(fetch_uea(name, in_folder("cache"), python, [](double) {})); });
  };
  EXPECT_TRUE(has(fetch("PEMS-SF", "python3"), "no package is known"));
  EXPECT_TRUE(has(fetch("JapaneseVowels", "no-such-python"), "starting no-such-python failed"));
  EXPECT_TRUE(has(fetch("JapaneseVowels", "false"), "JapaneseVowels_TRAIN.ts"));
  EXPECT_TRUE(is_in_a_package("JapaneseVowels"));
  EXPECT_FALSE(is_in_a_package("PEMS-SF"));
}

}  // namespace
}  // namespace quest::data
