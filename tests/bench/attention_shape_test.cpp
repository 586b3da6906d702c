#include "bench/attention_shape.h"

#include <gtest/gtest.h>

#include <array>

#include "app/usage_error.h"

namespace quest::bench {
namespace {

std::string usage_message(const std::function<void()>& action) {
  try {
    action();
  } catch (const app::UsageError& error) {
    return error.what();
  }
  return "no UsageError was thrown";
}

TEST(AttentionShape, ParsesSizesAndSuffixesInAnyOrder) {
  const auto shape = parse_named_shape("mine=2,6,17,40,dv=8,causal,kv=3,nk=19");
  const AttentionShape expected{.name = "mine",
                                .batch = 2,
                                .heads = 6,
                                .queries = 17,
                                .dim = 40,
                                .causal = true,
                                .kv_heads = 3,
                                .keys = 19,
                                .value_dim = 8};
  EXPECT_EQ(shape, expected);
}

TEST(AttentionShape, SizesLeftOutFollowTheQueries) {
  const auto shape = parse_dims("2,6,17,40");
  EXPECT_EQ(shape.kv_heads, 6);
  EXPECT_EQ(shape.keys, 17);
  EXPECT_EQ(shape.value_dim, 40);
  EXPECT_FALSE(shape.causal);
  EXPECT_EQ(shape.name, "");
}

TEST(AttentionShape, TextIsTheInverseOfParsing) {
  for (const char* text : {"1,1,1,1", "16,8,256,16,causal", "4,8,256,64,causal,kv=2,nk=300,dv=80", "4,2,5,6,dv=3"}) {
    EXPECT_EQ(dims_text(parse_dims(text)), text);
  }
}

struct BadShape {
  const char* text;
  const char* reason;
};

class BadShapes : public ::testing::TestWithParam<BadShape> {};

TEST_P(BadShapes, MessageNamesTheFormWhatWasGivenAndTheReason) {
  const auto [text, reason] = GetParam();
  const auto message = usage_message([text = text] { static_cast<void>(parse_named_shape(text)); });
  EXPECT_NE(message.find("NAME=B,H,N,D"), std::string::npos) << message;
  EXPECT_NE(message.find("\"" + std::string(text) + "\""), std::string::npos) << message;
  EXPECT_NE(message.find(reason), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadShapes,
    ::testing::Values(BadShape{"16,3,197,64", "no name"}, BadShape{"16,8,256,64,kv=2", "no name"},
                      BadShape{"=16,3,197,64", "name is empty"}, BadShape{"a=16,3", "2 of the four sizes"},
                      BadShape{"a=16,3,0,64", "N must be an integer from 1 to 1000000, not \"0\""},
                      BadShape{"a=16,-3,197,64", "H must be"}, BadShape{"a=16,3,197,64x", "D must be"},
                      BadShape{"a=9999999,3,197,64", "B must be"}, BadShape{"a=1.5,3,197,64", "B must be"},
                      BadShape{"a=16,3,197,64,", "\"\" is none of"},
                      BadShape{"a=16,3,197,64,acausal", "\"acausal\" is none of causal"},
                      BadShape{"a=16,3,197,64,kv=", "kv must be"}, BadShape{"a=16,3,197,64,kv=2", "3 query heads"},
                      BadShape{"a=16,3,197,64,nk=no", "nk must be"}));

TEST(AttentionShape, ModelShapesAreThePublishedOnes) {
  const auto shapes = model_shapes();
  ASSERT_EQ(shapes.size(), 9U);
  EXPECT_EQ(dims_text(shapes.front()), "16,3,197,64");
  EXPECT_EQ(dims_text(select_shapes(shapes, std::array{std::string("d128")}).front()), "1,8,1024,128,causal");
}

TEST(AttentionShape, SelectionKeepsTheOrderOfTheNamesAndRejectsUnknownOnes) {
  const auto shapes = model_shapes();
  const auto selected = select_shapes(shapes, std::array{std::string("short"), std::string("vit-b")});
  ASSERT_EQ(selected.size(), 2U);
  EXPECT_EQ(selected[0].name, "short");
  EXPECT_EQ(selected[1].name, "vit-b");
  EXPECT_EQ(select_shapes(shapes, {}), shapes);

  const auto message =
      usage_message([&] { static_cast<void>(select_shapes(shapes, std::array{std::string("vit-x")})); });
  EXPECT_NE(message.find("\"vit-x\""), std::string::npos) << message;
  EXPECT_NE(message.find("vit-ti, vit-b"), std::string::npos) << message;
}

TEST(AttentionShape, CountsTheProductsOfBothPasses) {
  const auto full = parse_dims("2,3,10,4");
  EXPECT_DOUBLE_EQ(attention_flops(full, Pass::forward), 4.0 * 2 * 3 * 10 * 10 * 4);
  EXPECT_DOUBLE_EQ(attention_flops(full, Pass::forward_backward), 3.5 * attention_flops(full, Pass::forward));
  EXPECT_DOUBLE_EQ(attention_flops(parse_dims("2,3,10,4,causal"), Pass::forward),
                   0.5 * attention_flops(full, Pass::forward));
  EXPECT_DOUBLE_EQ(attention_flops(parse_dims("1,1,10,4,nk=5,dv=2"), Pass::forward), 2.0 * 10 * 5 * (4 + 2));
}

}  // namespace
}  // namespace quest::bench
