#include "data/formats/idx.h"

#include <gtest/gtest.h>

#include "data/formats/format_error.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using namespace std::string_literals;
using quest::testing::has;
using quest::testing::message_of;

std::string reason(const std::string& content) {
  return message_of([&] { static_cast<void>(parse_idx(content)); });
}

TEST(Idx, ReadsShapeAndValues) {
  const std::string content = "\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcdef";
  const auto idx = parse_idx(content);
  EXPECT_EQ(idx.shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(idx.values, "abcdef");
  EXPECT_TRUE(parse_idx("\0\0\x08\x01\0\0\0\0"s).values.empty());
}

TEST(Idx, SaysWhatIsWrong) {
  EXPECT_TRUE(has(reason(""), "begins with two zero bytes"));
  EXPECT_TRUE(has(reason("\0\x01\x08\x01"s), "begins with two zero bytes"));
  EXPECT_TRUE(has(reason("\0\0\x0d\x01\0\0\0\0"s), "expected the type 8, unsigned bytes; found 13"));
  EXPECT_TRUE(has(reason("\0\0\x08\0"s), "found rank 0"));
  EXPECT_TRUE(has(reason("\0\0\x08\xff\0\0\0\x01"s), "found rank 255 in a file of 8 bytes"));
  EXPECT_TRUE(
      has(reason("\0\0\x08\x02\0\0\0\x02\0\0\0\x03"s + "abcde"), "expected 2 x 3 bytes after the sizes, found 5"));
  EXPECT_TRUE(has(reason("\0\0\x08\x01\0\0\0\x02"s + "abc"), "found 3"));
  // 65536^4 is 2^64, which wraps around to the 0 bytes that are there.
  EXPECT_TRUE(has(reason("\0\0\x08\x04\0\x01\0\0\0\x01\0\0\0\x01\0\0\0\x01\0\0"s), "found 0; is the file cut off?"));
}

}  // namespace
}  // namespace quest::data
