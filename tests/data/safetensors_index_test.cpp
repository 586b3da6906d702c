#include "data/formats/safetensors_index.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "data/formats/format_error.h"
#include "tests/testing/messages.h"

namespace quest::data {
namespace {

using quest::testing::has;
using quest::testing::message_of;

std::string tensor(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

std::string one(const std::string& dtype, const std::string& shape, const std::string& offsets) {
  return R"({"w":)" + tensor(dtype, shape, offsets) + "}";
}

std::string two(const std::string& first_offsets, const std::string& second_offsets) {
  return R"({"a":)" + tensor("U8", "[4]", first_offsets) + R"(,"b":)" + tensor("U8", "[4]", second_offsets) + "}";
}

std::string reason(const std::string& header, std::uint64_t data_size) {
  return message_of([&] { static_cast<void>(parse_safetensors_header(header, data_size)); });
}

std::string length_reason(std::uint64_t announced, std::uint64_t file_size) {
  std::array<std::byte, 8> start{};
  std::memcpy(start.data(), &announced, start.size());
  return message_of([&] { static_cast<void>(safetensors_header_length(start, file_size)); });
}

TEST(SafetensorsIndex, ReadsTensorsInTheOrderOfTheirBytes) {
  const auto index = parse_safetensors_header(
      R"({"b":)" + tensor("BF16", "[2,3]", "[8,20]") + R"(,"__metadata__":{"format":"pt","é":""},"a":)" +
          tensor("F64", "[]", "[0,8]") + R"(,"none":)" + tensor("I64", "[3,0]", "[20,20]") + "}   ",
      20);
  ASSERT_EQ(index.entries.size(), 3U);
  EXPECT_EQ(index.entries[0].name, "a");
  EXPECT_TRUE(index.entries[0].shape.empty());
  EXPECT_EQ(index.entries[1].name, "b");
  EXPECT_EQ(index.entries[1].type, ElementType::bfloat16);
  EXPECT_EQ(index.entries[1].shape, (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(index.entries[1].begin, 8U);
  EXPECT_EQ(index.entries[1].end, 20U);
  EXPECT_EQ(index.entries[2].name, "none");
  EXPECT_EQ(index.metadata, (std::map<std::string, std::string>{{"format", "pt"}, {"é", ""}}));
}

TEST(SafetensorsIndex, ReadsNoTensors) { EXPECT_TRUE(parse_safetensors_header("{}", 0).entries.empty()); }

TEST(SafetensorsIndex, ReadsWhatItWrites) {
  const SafetensorsIndex written{
      .entries = {{"x", ElementType::float32, {2, 2}, 0, 16}, {"y", ElementType::boolean, {}, 16, 17}},
      .metadata = {{"step", "12"}}};
  const std::string start = safetensors_start(written);
  EXPECT_EQ(start.size() % 8, 0U);
  const auto length = safetensors_header_length(std::as_bytes(std::span(start)), start.size() + 17);
  ASSERT_EQ(length + 8, start.size());
  const auto read = parse_safetensors_header(std::string_view(start).substr(8), 17);
  ASSERT_EQ(read.entries.size(), 2U);
  EXPECT_EQ(read.entries[0].shape, written.entries[0].shape);
  EXPECT_EQ(read.entries[1].type, ElementType::boolean);
  EXPECT_EQ(read.metadata, written.metadata);
}

TEST(SafetensorsIndex, RefusesToWriteWhatNobodyCouldRead) {
  const auto write = [](std::vector<SafetensorsEntry> entries) {
    return message_of([&] { static_cast<void>(safetensors_start({.entries = entries})); });
  };
  EXPECT_TRUE(has(write({{"x"}, {"x"}}), "\"x\" twice"));
  EXPECT_TRUE(has(write({{"__metadata__"}}), "__metadata__"));
  EXPECT_TRUE(has(write({{"\xff"}}), "UTF-8"));
}

TEST(SafetensorsIndex, RefusesLengthsThatCannotBe) {
  EXPECT_TRUE(has(length_reason(1ULL << 63, 1000), "announces 9223372036854775808"));
  EXPECT_TRUE(has(length_reason(~0ULL, 1000), "at most 100000000"));
  EXPECT_TRUE(has(length_reason(100'000'001, 1ULL << 40), "at most 100000000"));
  EXPECT_TRUE(has(length_reason(993, 1000), "only 992 after the first 8; is it cut off?"));
  EXPECT_TRUE(has(length_reason(0, 7), "at least 8 bytes, found 7"));
  EXPECT_EQ(length_reason(992, 1000), "");
}

struct Refusal {
  const char* name;
  std::string header;
  std::uint64_t data_size;
  const char* reason;
};

class SafetensorsRefusal : public ::testing::TestWithParam<Refusal> {};

TEST_P(SafetensorsRefusal, GivesTheReason) {
  EXPECT_TRUE(has(reason(GetParam().header, GetParam().data_size), GetParam().reason));
}

const Refusal kRefusals[] = {
    {"NegativeOffset", one("F32", "[1]", "[-4,0]"), 4, "two offsets from 0 to 2^64-1, found -4"},
    {"FallingOffsets", one("F32", "[1]", "[4,0]"), 4, "found bytes 4 to 0"},
    {"OffsetsBeyondTheFile", one("F32", "[2]", "[0,8]"), 4, "within the 4 bytes after the header, found bytes 0 to 8"},
    {"HugeOffsets", one("U8", "[1]", "[18446744073709551614,18446744073709551615]"), 4, "within the 4 bytes"},
    {"OffsetBeyond64Bits", one("U8", "[1]", "[0,18446744073709551616]"), 4, "found 18446744073709551616"},
    {"FractionOfAnOffset", one("U8", "[1]", "[0,1.0]"), 1, "found 1.0"},
    {"ThreeOffsets", one("U8", "[1]", "[0,1,1]"), 1, "expected two offsets"},
    {"OneOffset", one("U8", "[1]", "[0]"), 1, "found only some of them"},
    {"Overlap", two("[0,4]", "[2,6]"), 6, "the tensors overlap"},
    {"SameBytesTwice", two("[0,4]", "[0,4]"), 4, "the tensors overlap"},
    {"Hole", two("[0,4]", "[5,9]"), 9, "belong to no tensor"},
    {"HoleAtTheStart", one("U8", "[4]", "[1,5]"), 5, "begins at byte 1, expected it at byte 0"},
    {"BytesAfterTheLast", one("U8", "[4]", "[0,4]"), 5, "end at byte 4, expected at byte 5, the end of the file"},
    {"BytesOfNoTensor", "{}", 3, "end at byte 0, expected at byte 3"},
    {"EmptyTensorInsideAnother",
     R"({"a":)" + tensor("U8", "[4]", "[0,4]") + R"(,"b":)" + tensor("U8", "[0]", "[2,2]") + "}", 4, "overlap"},
    {"NameTwice", R"({"a":)" + tensor("U8", "[0]", "[0,0]") + R"(,"a":)" + tensor("U8", "[0]", "[0,0]") + "}", 0,
     "the name \"a\" stands twice"},
    {"KeyTwice", R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}})", 0,
     "\"dtype\" of \"a\" stands twice"},
    {"MetadataKeyTwice", R"({"__metadata__":{"a":"1","a":"2"}})", 0, "\"a\" of \"__metadata__\" stands twice"},
    {"UnknownType", one("F31", "[1]", "[0,4]"), 4, "expected one of the types BOOL, U8"},
    {"TypeIsANumber", R"({"a":{"dtype":7,"shape":[0],"data_offsets":[0,0]}})", 0, "expected \"dtype\" as a text"},
    {"TooFewBytes", one("F32", "[3]", "[0,8]"), 8, "need 12 bytes, its offsets give it bytes 0 to 8"},
    {"NegativeSize", one("F32", "[-1]", "[0,4]"), 4, "sizes from 0 to 2^63-1, found -1"},
    {"SizeBeyond63Bits", one("U8", "[9223372036854775808]", "[0,4]"), 4, "found 9223372036854775808"},
    {"ShapeWrapsAround", one("F32", "[4611686018427387905]", "[0,4]"), 4, "less than 2^63 bytes"},
    {"ProductWrapsAround", one("U8", "[4294967296,4294967297]", "[0,4]"), 4, "less than 2^63 bytes"},
    {"StridesWrapAround", one("U8", "[0,4294967296,4294967296]", "[0,0]"), 0, "less than 2^63 bytes"},
    {"NestedShape", one("U8", "[[1]]", "[0,1]"), 1, "found an array"},
    {"NoShape", R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", 0, "found only some of them"},
    {"UnknownKey", R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0],"extra":"x"}})", 0, "and nothing else"},
    {"TensorIsAList", R"({"a":[]})", 0, "\"a\": expected an object, found an array"},
    {"MetadataIsANumber", R"({"__metadata__":{"a":1}})", 0, "\"a\" of \"__metadata__\": expected a text, found 1"},
    {"MetadataIsText", R"({"__metadata__":"a"})", 0, "expected an object, found the text \"a\""},
    {"List", "[]", 0, "begins with {"},
    {"Nothing", "", 0, "begins with {"},
    {"SpaceFirst", " {}", 0, "begins with {"},
    {"CutOff", R"({"a":{"dtype":"U8")", 0, "not JSON in UTF-8"},
    {"TwoObjects", "{}{}", 0, "byte 3 of it breaks the rules"},
    {"ZeroByte", std::string("{}\0x", 4), 0, "byte 3 of it is zero"},
    {"BadUtf8", "{\"\xc3(\":{}}", 0, "not JSON in UTF-8"},
    {"LoneSurrogate", R"({"\ud800":{}})", 0, "not JSON in UTF-8"},
    {"Null", R"({"a":null})", 0, "found null"},
    {"TerminalCodesAreShownNotSent", R"({"\u001b[2J":1})", 0, R"("\x1b[2J": expected an object)"},
};

INSTANTIATE_TEST_SUITE_P(Headers, SafetensorsRefusal, ::testing::ValuesIn(kRefusals),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(SafetensorsIndex, RefusesDeepNestingAtOnce) {
  const std::size_t depth = 10'000'000;
  EXPECT_TRUE(has(reason(R"({"a":{"shape":)" + std::string(depth, '['), 0), "found an array"));
  std::string objects = "{";
  for (std::size_t i = 0; i < depth / 5; ++i) objects += R"("a":{)";
  EXPECT_TRUE(has(reason(objects, 0), "found an object"));
}

}  // namespace
}  // namespace quest::data
