// The recipe keys of augmentation.

#include "data/augment/augment_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quest::data {
namespace {

AugmentOptions read(const std::string& toml) {
  AugmentOptions options;
  recipe::Fields fields;
  describe(fields, options);
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

TEST(AugmentFields, SetEveryOptionButTheSize) {
  const auto options = read(R"(
[augment]
crop = "random_resized"
crop_area = 0.25
crop_aspect = 0.5
padding = 2
edge = "black"
interpolation = "bilinear"
eval_crop = 0.875
flip = 0.5
policy = "rand-m9-mstd0.5-inc1"
color_jitter = 0.0
erasing = 0.25
mixup = 0.8
cutmix = 1.0
mix_probability = 0.9
cutmix_share = 0.4
smoothing = 0.1
mix_group = 256
mean = [0.485, 0.456, 0.406]
deviation = [0.229, 0.224, 0.225]
)");
  EXPECT_EQ(options.crop, Crop::random_resized);
  EXPECT_EQ(options.random_crop.least_area, 0.25);
  EXPECT_EQ(options.random_crop.least_aspect, 0.5);
  EXPECT_EQ(options.padding, 2);
  EXPECT_EQ(options.edge, Edge::black);
  EXPECT_EQ(options.interpolation, Interpolation::bilinear);
  EXPECT_EQ(options.evaluated_part, 0.875);
  EXPECT_EQ(options.flip, 0.5);
  EXPECT_EQ(options.policy, "rand-m9-mstd0.5-inc1");
  EXPECT_EQ(options.color_jitter, 0.0);
  EXPECT_EQ(options.erasing, 0.25);
  EXPECT_EQ(options.mixing.mixup, 0.8);
  EXPECT_EQ(options.mixing.cutmix, 1.0);
  EXPECT_EQ(options.mixing.probability, 0.9);
  EXPECT_EQ(options.mixing.cutmix_share, 0.4);
  EXPECT_EQ(options.mixing.smoothing, 0.1);
  EXPECT_EQ(options.mixing.group, 256);
  EXPECT_EQ(options.statistics.mean, (std::vector{0.485, 0.456, 0.406}));
  EXPECT_EQ(options.statistics.deviation, (std::vector{0.229, 0.224, 0.225}));
}

TEST(AugmentFields, RefuseWhatDoesNotGoTogether) {
  EXPECT_NE(
      error_of("augment.policy = \"rand-m9-mstd0.5-inc1\"\naugment.color_jitter = 0.3\n").find("augment.color_jitter"),
      std::string::npos);
  EXPECT_NE(error_of("augment.policy = \"rand-m99-inc1\"\n").find("\"m\" is out of range"), std::string::npos);
  EXPECT_NE(error_of("augment.mean = [0.5]\n").find("got 1 and 3"), std::string::npos);
  EXPECT_NE(error_of("augment.flip = 1.5\n").find("augment.flip"), std::string::npos);
  EXPECT_NE(error_of("augment.crop = \"centre\"\n").find("random_resized"), std::string::npos);
}

}  // namespace
}  // namespace quest::data
