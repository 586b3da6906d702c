// All augmentation of one picture: what is done how often, what is refused, and planes of floats.

#include "data/augment/augmenter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <vector>

#include "data/augment/color_jitter.h"
#include "data/augment/neighbour_operations.h"
#include "data/augment/point_operations.h"
#include "tests/data/made_pictures.h"

namespace quest::data {
namespace {

using quest::testing::made_picture;

AugmentOptions deit(std::int64_t side) {
  AugmentOptions options;
  options.image_size = side;
  options.crop = Crop::random_resized;
  options.flip = 0.5;
  options.policy = "rand-m9-mstd0.5-inc1";
  options.erasing = 0.25;
  options.statistics = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
  return options;
}

AugmentOptions deit3(std::int64_t side) {
  auto options = deit(side);
  options.crop = Crop::simple;
  options.policy = "3-augment";
  options.color_jitter = 0.3;
  options.erasing = 0.0;
  return options;
}

std::string text_of(const Picture& picture) { return {picture.rgb.begin(), picture.rgb.end()}; }

std::string problem_with(const AugmentOptions& options) {
  try {
    const Augmenter augmenter(options);
  } catch (const std::invalid_argument& problem) {
    return problem.what();
  }
  return "none";
}

template <typename T>
::testing::AssertionResult holds(const std::string& text, const T& part) {
  if (text.find(part) != std::string::npos) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

TEST(Augmenter, DoesNothingByDefault) {
  AugmentOptions options;
  options.image_size = 9;
  const Augmenter augmenter(options);
  const auto picture = made_picture(9, 9);
  base::Random random(1, {});
  EXPECT_EQ(augmenter.training(picture, random).rgb, picture.rgb);
  EXPECT_EQ(augmenter.evaluation(picture).rgb, picture.rgb);
  std::vector<float> planes(3 * 81);
  augmenter.write_training(picture, random, planes.data());
  for (std::size_t i = 0; i < 81; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(planes[81 * c + i], static_cast<float>(picture.rgb[3 * i + c]) / 255.0F);
    }
  }
}

TEST(Augmenter, IsAFunctionOfPictureAndGenerator) {
  for (const auto& options : {deit(32), deit3(32)}) {
    const Augmenter augmenter(options);
    const auto picture = made_picture(41, 57);
    std::vector<float> first(3 * 32 * 32);
    std::vector<float> second(first.size());
    for (std::uint64_t i = 0; i < 50; ++i) {
      base::Random one(3, {i});
      base::Random other(3, {i});
      augmenter.write_training(picture, one, first.data());
      augmenter.write_training(picture, other, second.data());
      ASSERT_EQ(first, second);
      ASSERT_TRUE(std::ranges::all_of(first, [](float x) { return std::isfinite(x); }));
    }
  }
}

TEST(Augmenter, ServesPicturesOfAnySize) {
  for (const auto& options : {deit(32), deit3(32)}) {
    const Augmenter augmenter(options);
    std::vector<float> planes(3 * 32 * 32);
    for (const PictureSize size : {PictureSize{1, 1}, {1, 2}, {2, 1}, {1, 5000}, {5000, 1}, {3, 3}, {32, 32}}) {
      const auto picture = made_picture(size.height, size.width);
      EXPECT_EQ(augmenter.evaluation(picture).rgb.size(), planes.size());
      for (std::uint64_t i = 0; i < 60; ++i) {
        base::Random random(4, {i});
        augmenter.write_training(picture, random, planes.data());
        ASSERT_TRUE(std::ranges::all_of(planes, [](float x) { return std::isfinite(x); }));
      }
    }
  }
}

TEST(Augmenter, RefusesWhatDoesNotGoTogether) {
  EXPECT_TRUE(holds(problem_with({}), "image size"));
  auto options = deit(32);
  options.color_jitter = 0.3;
  EXPECT_TRUE(holds(problem_with(options), "augment.color_jitter is not applied beside RandAugment"));
  options = deit(32);
  options.policy = "rand-m9";
  EXPECT_TRUE(holds(problem_with(options), R"(augment.policy: expected rand-m<magnitude)"));
  options.policy = "autoaugment";
  EXPECT_TRUE(holds(problem_with(options), R"(got "autoaugment")"));
  options = deit3(32);
  options.padding = 16;
  EXPECT_TRUE(holds(problem_with(options), "augment.padding must be below half"));
  options = deit(32);
  options.statistics.mean = {0.5, 0.5};
  EXPECT_TRUE(holds(problem_with(options), "augment.mean and augment.deviation"));
  options.statistics = {{0.5}, {0.5}};
  EXPECT_TRUE(holds(problem_with(options), "three channels"));

  AugmentOptions uncut;
  uncut.image_size = 8;
  base::Random random(1, {});
  try {
    static_cast<void>(Augmenter(uncut).training(made_picture(8, 9), random));
    FAIL() << "a picture of another size was taken";
  } catch (const std::invalid_argument& problem) {
    EXPECT_TRUE(holds(problem.what(), R"(got one of 8x9; set augment.crop to "random_resized")"));
  }
}

TEST(RandAugment, IsReadAsTimmWritesIt) {
  EXPECT_EQ(parse_rand_augment("rand-m9-mstd0.5-inc1"), (RandAugment{2, 9.0, 0.5}));
  EXPECT_EQ(parse_rand_augment("rand-inc1-n3-m7.5"), (RandAugment{3, 7.5, 0.0}));
  EXPECT_EQ(parse_rand_augment("none"), std::nullopt);
  const std::map<std::string, std::string> problems = {
      {"rand", "\"m\" is missing"},           {"rand-m9", "\"inc1\" is missing"},
      {"rand-m11-inc1", "out of range"},      {"rand-m-inc1", "\"m\" is no name with a number"},
      {"rand-m9x-inc1", "\"m9x\""},           {"rand-m9-w0-inc1", "\"w\" is not known"},
      {"rand-m9-mstdnan-inc1", "mstdnan"},    {"rand-m9-n1.5-inc1", "no whole number"},
      {"rand-m9-n0-inc1", "out of range"},    {"random", "does not begin with"},
      {"rand-m9--inc1", "no name with a"},    {"rand-m9-inc1-", "no name with a"},
      {"rand-m9-inc0", "\"inc1\" is missing"}};
  for (const auto& [text, expected] : problems) {
    try {
      static_cast<void>(parse_rand_augment(text));
      ADD_FAILURE() << text << " was taken";
    } catch (const std::invalid_argument& problem) {
      EXPECT_TRUE(holds(problem.what(), expected));
      EXPECT_TRUE(holds(problem.what(), "rand-m9-mstd0.5-inc1"));
    }
  }
}

TEST(RandAugment, AppliesEveryOperationEquallyOften) {
  // With a magnitude of exactly 9 an operation gives one of two pictures, which tell what was done.
  const auto picture = made_picture(12, 12);
  std::map<std::string, std::string> known = {{text_of(picture), "nothing"}};
  for (const auto& operation : rand_operations()) {
    for (const double magnitude : {9.0, -9.0}) {
      if (magnitude < 0.0 && !operation.has_sign) continue;
      known.emplace(text_of(operation.apply(picture, magnitude, {1, 2, 3})),
                    std::string(operation.name) + (magnitude < 0.0 ? "-" : ""));
    }
  }
  std::map<std::string, int> counts;
  base::Random random(7, {});
  constexpr int kDraws = 30000;
  for (int i = 0; i < kDraws; ++i) {
    const auto found = known.find(text_of(apply({.operations = 1}, picture, {1, 2, 3}, random)));
    ASSERT_NE(found, known.end());
    ++counts[found->second];
  }
  // Half of the time nothing, and operations that change nothing in noise of all values.
  for (const auto& operation : rand_operations()) {
    const std::string name(operation.name);
    if (name == "AutoContrast" || name == "Equalize") continue;
    const int both = counts[name] + counts[name + "-"];
    EXPECT_NEAR(both, kDraws / 30, 4.0 * std::sqrt(kDraws / 30.0)) << name;
    if (!operation.has_sign) continue;
    EXPECT_NEAR(counts[name], both / 2, 4.0 * std::sqrt(both / 4.0)) << name;
  }
}

TEST(RandAugment, DrawsMagnitudesAroundTheGivenOne) {
  // Brightness of one pixel shows the magnitude: 100 times 1 + 0.09 m.
  Picture picture{1, 1, {100, 100, 100}};
  std::vector<double> magnitudes;
  base::Random random(8, {});
  for (int i = 0; i < 60000; ++i) {
    base::Random same = random;
    const auto chosen = same.below(rand_operations().size());
    const auto result = apply({.operations = 1, .magnitude = 9.0, .deviation = 0.5}, picture, {}, random);
    if (rand_operations()[chosen].name != "BrightnessIncreasing" || result.rgb[0] <= 100) continue;
    magnitudes.push_back((result.rgb[0] + 0.5 - 100.0) / 9.0);
  }
  ASSERT_GT(magnitudes.size(), 700U);
  double sum = 0.0;
  double squares = 0.0;
  for (const double m : magnitudes) {
    sum += m;
    squares += (m - 9.0) * (m - 9.0);
    EXPECT_LE(m, 10.06);
  }
  const auto count = static_cast<double>(magnitudes.size());
  EXPECT_NEAR(sum / count, 9.0, 4.0 * 0.5 / std::sqrt(count));
  EXPECT_NEAR(std::sqrt(squares / count), 0.5, 0.05);
}

TEST(ColorJitter, DrawsFactorsAndOrders) {
  // A grey picture keeps its hue, so that brightness and contrast show alone, in either order.
  Picture picture{1, 2, {40, 40, 40, 120, 120, 120}};
  int least = 255;
  int most = 0;
  base::Random random(9, {});
  for (int i = 0; i < 5000; ++i) {
    const auto result = color_jittered(picture, 0.3, random);
    EXPECT_EQ(result.rgb[3], result.rgb[5]);
    const int sum = result.rgb[0] + result.rgb[3];
    least = std::min(least, sum);
    most = std::max(most, sum);
  }
  EXPECT_NEAR(least, 0.7 * 160, 4);
  EXPECT_NEAR(most, 1.3 * 160, 4);
}

TEST(OneOfThree, IsGreySolarisedOrBlurredEquallyOften) {
  const auto picture = made_picture(9, 9);
  const auto grey = in_grey(picture);
  const auto sun = solarized(picture, 128);
  std::map<std::string, int> counts;
  base::Random random(10, {});
  for (int i = 0; i < 3000; ++i) {
    const auto result = one_of_three(picture, random);
    ++counts[result.rgb == grey.rgb ? "grey" : (result.rgb == sun.rgb ? "sun" : "blur")];
  }
  for (const auto* name : {"grey", "sun", "blur"})
    EXPECT_NEAR(counts[name], 1000, 4 * std::sqrt(1000 * 2.0 / 3)) << name;
}

TEST(Erasing, HasTheSharesAndShapesAsked) {
  constexpr PictureSize kSize{1000, 1000};
  base::Random random(11, {});
  int erased = 0;
  double area = 0.0;
  std::vector<double> slants;
  constexpr int kDraws = 40000;
  for (int i = 0; i < kDraws; ++i) {
    const auto box = erased_box(kSize, 0.25, random);
    if (box.height == 0) continue;
    ++erased;
    ASSERT_TRUE(box.top >= 0 && box.left >= 0 && box.top + box.height <= 1000 && box.left + box.width <= 1000);
    const double share = static_cast<double>(box.height * box.width) / 1e6;
    ASSERT_TRUE(share > 0.0195 && share < 0.334) << share;
    const double slant = std::log(static_cast<double>(box.height) / static_cast<double>(box.width));
    ASSERT_LE(std::abs(slant), std::log(1.0 / 0.3) + 0.02);
    area += share;
    slants.push_back(slant);
  }
  EXPECT_NEAR(erased, kDraws / 4, 4.0 * std::sqrt(kDraws * 3.0 / 16.0));
  // Long boxes of large areas are drawn again: the exact mean lies a little below that of U(0.02, 1/3).
  EXPECT_NEAR(area / erased, 0.1737, 0.004);
  EXPECT_NEAR(static_cast<double>(std::ranges::count_if(slants, [](double s) { return s > 0.0; })), erased / 2.0,
              4.0 * std::sqrt(erased / 4.0));
  for (const PictureSize size : {PictureSize{1, 1}, {1, 9}, {2, 2}}) {
    for (int i = 0; i < 100; ++i) {
      const auto box = erased_box(size, 1.0, random);
      ASSERT_TRUE(box.top + box.height <= size.height && box.left + box.width <= size.width);
    }
  }
}

TEST(Erasing, FillsTheBoxAloneWithStandardNoise) {
  constexpr PictureSize kSize{100, 120};
  std::vector<float> planes(3 * 100 * 120, 50.0F);
  erase(planes.data(), kSize, {10, 20, 60, 70}, 12);
  double sum = 0.0;
  double squares = 0.0;
  int count = 0;
  for (std::size_t i = 0; i < planes.size(); ++i) {
    const auto row = i / 120 % 100;
    const auto column = i % 120;
    const bool is_inside = row >= 10 && row < 70 && column >= 20 && column < 90;
    ASSERT_EQ(planes[i] != 50.0F, is_inside);
    if (!is_inside) continue;
    ++count;
    sum += planes[i];
    squares += planes[i] * planes[i];
  }
  EXPECT_EQ(count, 3 * 60 * 70);
  EXPECT_NEAR(sum / count, 0.0, 4.0 / std::sqrt(count));
  EXPECT_NEAR(squares / count, 1.0, 4.0 * std::sqrt(2.0 / count));
}

}  // namespace
}  // namespace quest::data
