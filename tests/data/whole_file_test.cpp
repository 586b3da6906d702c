#include "data/formats/whole_file.h"

#include <gtest/gtest.h>

#include "data/formats/format_error.h"
#include "tests/data/packed.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using testing::gzipped;
using testing::has;
using testing::message_of;
using testing::xzipped;

class WholeFile : public testing::FolderFixture {
 protected:
  [[nodiscard]] std::string read(const std::string& content) const { return read_whole_file(file_with("a", content)); }
  [[nodiscard]] std::string reason(const std::string& content) const {
    return message_of([&] { static_cast<void>(read(content)); });
  }
};

std::string long_content() {
  std::string content;
  for (int i = 0; i < 200'000; ++i) content += std::to_string(i * 7919 % 104'729) + ",";
  return content;
}

TEST_F(WholeFile, ReadsPlainAndPacked) {
  const std::string content = long_content();
  EXPECT_EQ(read(content), content);
  EXPECT_EQ(read(gzipped(content)), content);
  EXPECT_EQ(read(xzipped(content)), content);
  EXPECT_EQ(read(gzipped(content) + gzipped("end")), content + "end");
  EXPECT_EQ(read(xzipped(content) + xzipped("end")), content + "end");
  EXPECT_EQ(read(""), "");
  EXPECT_EQ(read(gzipped("")), "");
  EXPECT_EQ(read(xzipped("")), "");
}

TEST_F(WholeFile, RefusesWhatIsCutOrBroken) {
  for (const std::string& packed : {gzipped("some content"), xzipped("some content")}) {
    for (std::size_t length = 6; length < packed.size(); ++length) {
      EXPECT_TRUE(has(reason(packed.substr(0, length)), "broken or cut off")) << length;
    }
    EXPECT_TRUE(has(reason(packed + "x"), "broken or cut off"));
  }
}

TEST_F(WholeFile, RefusesContentThatUnpacksToMuch) {
  const std::string zeros(1 << 22, '\0');
  for (const std::string& packed : {gzipped(zeros), xzipped(zeros)}) {
    const auto path = file_with("a", packed);
    EXPECT_EQ(read_whole_file(path, zeros.size()).size(), zeros.size());
    const auto message = message_of([&] { static_cast<void>(read_whole_file(path, zeros.size() / 2)); });
    EXPECT_TRUE(has(message, "expected at most 2097152 bytes of unpacked content"));
  }
}

}  // namespace
}  // namespace quest::data
