// The recipe keys of ViT and CrossViT.

#include <gtest/gtest.h>

#include "models/cross_vit_fields.h"
#include "models/vit_fields.h"

namespace quest::testing {
namespace {

template <typename Options>
Options read(const std::string& toml) {
  Options options;
  recipe::Fields fields;
  models::describe(fields, options);
  fields.apply(recipe::settings_of_toml(toml, "my.toml"));
  return options;
}

template <typename Options>
std::string error_of(const std::string& toml) {
  try {
    static_cast<void>(read<Options>(toml));
  } catch (const recipe::RecipeError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ViTFields, SetWhatDeiT3Changes) {
  const auto options = read<models::ViTOptions>(R"(
[model]
formulation = "standard"
patch_size = 14
dim = 1280
depth = 32
heads = 16
drop_path = 0.6
uniform_drop_path = true
layer_scale = 1e-4
class_token_position = false
)");
  EXPECT_EQ(options.formulation().name, "standard");
  EXPECT_EQ(options.patch_size(), 14);
  EXPECT_EQ(options.dim(), 1280);
  EXPECT_EQ(options.depth(), 32);
  EXPECT_EQ(options.heads(), 16);
  EXPECT_EQ(options.drop_path(), 0.6);
  EXPECT_TRUE(options.uniform_drop_path());
  EXPECT_EQ(options.layer_scale(), 1e-4);
  EXPECT_FALSE(options.class_token_position());
}

TEST(CrossViTFields, SetBothBranches) {
  const auto options = read<models::CrossViTOptions>(R"(
[model]
formulation = "qknorm"
fine_dim = 192
fine_depth = 2
fine_heads = 6
fine_patch_size = 10
coarse_dim = 384
coarse_depth = 4
coarse_heads = 12
coarse_patch_size = 8
coarse_image_size = 64
stages = 2
mlp_ratio = 4
three_convolutions = false
drop_path = 0.1
dropout = 0.2
)");
  EXPECT_EQ(options.formulation().name, "qknorm");
  EXPECT_EQ(options.fine().dim, 192);
  EXPECT_EQ(options.fine().depth, 2);
  EXPECT_EQ(options.fine().heads, 6);
  EXPECT_EQ(options.fine().patch_size, 10);
  EXPECT_EQ(options.coarse().dim, 384);
  EXPECT_EQ(options.coarse().depth, 4);
  EXPECT_EQ(options.coarse().heads, 12);
  EXPECT_EQ(options.coarse().patch_size, 8);
  EXPECT_EQ(options.coarse().image_size, 64);
  EXPECT_EQ(options.stages(), 2);
  EXPECT_EQ(options.mlp_ratio(), 4.0);
  EXPECT_FALSE(options.three_convolutions());
  EXPECT_EQ(options.drop_path(), 0.1);
  EXPECT_EQ(options.dropout(), 0.2);
}

TEST(CrossViTFields, RefuseWhatNoModelCanBe) {
  const auto refusal = error_of<models::CrossViTOptions>;
  EXPECT_NE(
      refusal("model.fine_heads = 5").find("model.fine_dim must be a multiple of model.fine_heads; got 128 and 5"),
      std::string::npos);
  EXPECT_NE(refusal("model.coarse_patch_size = 15").find("model.coarse_patch_size must divide the 224 pixels"),
            std::string::npos);
  EXPECT_NE(refusal("model.fine_patch_size = 8").find("patches of 12 or 16 pixels a side; got 8"), std::string::npos);
  EXPECT_EQ(refusal("model.fine_patch_size = 8\nmodel.three_convolutions = false"), "no error");
}

}  // namespace
}  // namespace quest::testing
