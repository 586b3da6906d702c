// The recipe keys of GraphGps.

#include "models/graph_gps_fields.h"

#include <gtest/gtest.h>

#include <functional>

namespace quest::testing {
namespace {

using models::GraphEncoding;
using models::GraphGpsOptions;
using models::GraphHead;
using models::GraphPooling;

GraphGpsOptions read(const std::string& toml) {
  GraphGpsOptions options;
  recipe::Fields fields;
  models::describe(fields, options);
  fields.apply(recipe::settings_of_toml(toml, "my.toml"));
  return options;
}

std::string error_of(const std::string& toml) {
  try {
    static_cast<void>(read(toml));
  } catch (const recipe::RecipeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(GraphGpsFields, SetEveryOptionThatDataDoesNot) {
  const GraphGpsOptions options = read(R"(
[model]
formulation = "standard"
dim = 64
depth = 10
heads = 4
message_passing = "gine"
dropout = 0.1
attention_dropout = 0.25
encoding = "random_walk"
encoding_terms = 20
encoding_dim = 28
pooling = "sum"
head = "halving"
head_layers = 3
)");
  EXPECT_EQ(options.formulation().name, "standard");
  EXPECT_EQ(options.dim(), 64);
  EXPECT_EQ(options.depth(), 10);
  EXPECT_EQ(options.heads(), 4);
  EXPECT_EQ(options.message_passing(), nn::MessagePassing::gine);
  EXPECT_EQ(options.dropout(), 0.1);
  EXPECT_EQ(options.attention_dropout(), 0.25);
  EXPECT_EQ(options.encoding(), GraphEncoding::random_walk);
  EXPECT_EQ(options.encoding_terms(), 20);
  EXPECT_EQ(options.encoding_dim(), 28);
  EXPECT_EQ(options.pooling(), GraphPooling::sum);
  EXPECT_EQ(options.head(), GraphHead::halving);
  EXPECT_EQ(options.head_layers(), 3);
}

TEST(GraphGpsFields, RefuseWhatNoModelCanBe) {
  EXPECT_NE(error_of("model.encoding_dim = 48").find("model.encoding_dim must be below model.dim, 48; got 48"),
            std::string::npos);
  EXPECT_EQ(error_of("model.encoding_dim = 48\nmodel.encoding = \"none\""), "no error");
  EXPECT_NE(error_of("model.head = \"pairs\"\nmodel.pooling = \"mean\"").find("pairs are pairs of nodes"),
            std::string::npos);
  EXPECT_NE(error_of("model.head = \"halving\"\nmodel.head_layers = 6").find("cannot be halved"), std::string::npos);
  EXPECT_NE(error_of("model.heads = 5").find("multiple of model.heads"), std::string::npos);
  EXPECT_NE(error_of("model.message_passing = \"gcn\"").find("gatedgcn"), std::string::npos);
}

}  // namespace
}  // namespace quest::testing
