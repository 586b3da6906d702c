// Mixup and cutmix against their formulas in double, sample by sample.

#include "data/augment/mixing.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "tests/testing/tensors.h"

namespace quest::data {
namespace {

using quest::testing::close;
using quest::testing::identical;

constexpr PictureSize kSize{12, 10};
constexpr testing::Bound kRounding{.absolute = 1e-6};

Draw draw_of(std::int64_t count, std::int64_t step, std::int64_t first = 0, std::int64_t step_samples = 0) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(count));
  std::iota(samples.begin(), samples.end(), 0);
  return {.seed = 5, .step = step, .step_samples = std::max(step_samples, count), .first = first, .samples = samples};
}

MixingOptions both() { return {.mixup = 0.8, .cutmix = 1.0}; }

std::int64_t box_entry(const MixPlan& plan, std::int64_t sample, std::int64_t i) {
  return plan.box[sample][i].item<std::int64_t>();
}

TEST(Mixing, DoesNothingByDefault) {
  const auto plan = plan_mixing({}, draw_of(4, 0), kSize);
  EXPECT_TRUE(plan.named().empty());
  const auto images = torch::randn({4, 3, 12, 10});
  EXPECT_TRUE(identical(mixed_images(images, plan), images));
  EXPECT_TRUE(identical(mixed_targets(torch::tensor({2, 0, 1, 2}), 3, 0.0, plan),
                        torch::tensor({0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}, at::kFloat).view({4, 3})));
  EXPECT_TRUE(plan_mixing({.mixup = 0.8, .probability = 0.0}, draw_of(4, 0), kSize).named().empty());
}

TEST(Mixing, FollowsTheFormulas) {
  torch::manual_seed(1);
  constexpr double kSmoothing = 0.1;
  int cuts = 0;
  for (std::int64_t step = 0; step < 40; ++step) {
    const std::int64_t count = step % 2 == 0 ? 6 : 5;
    const auto plan = plan_mixing(both(), draw_of(count, step), kSize);
    const auto images = torch::randn({count, 3, kSize.height, kSize.width});
    const auto labels = torch::randint(0, 7, {count}, at::kLong);
    const double weight = plan.pixel_weight[0].item<double>();
    const double own = plan.target_weight[0].item<double>();
    const bool is_cut = weight == 1.0;
    cuts += is_cut ? 1 : 0;
    auto expected = weight * images.to(at::kDouble) + (1.0 - weight) * images.to(at::kDouble).flip({0});
    if (is_cut) {
      const auto top = box_entry(plan, 0, 0);
      const auto left = box_entry(plan, 0, 1);
      const auto bottom = top + box_entry(plan, 0, 2);
      const auto right = left + box_entry(plan, 0, 3);
      expected = images.to(at::kDouble).clone();
      expected.slice(2, top, bottom)
          .slice(3, left, right)
          .copy_(images.flip({0}).slice(2, top, bottom).slice(3, left, right));
      EXPECT_NEAR(own, 1.0 - static_cast<double>((bottom - top) * (right - left)) / 120.0, 1e-6);
    } else {
      EXPECT_EQ(own, weight);
      EXPECT_EQ(box_entry(plan, 0, 2) * box_entry(plan, 0, 3), 0);
    }
    EXPECT_TRUE(close(mixed_images(images, plan), expected, kRounding));

    const auto smooth = at::one_hot(labels, 7).to(at::kDouble) * (1.0 - kSmoothing) + kSmoothing / 7.0;
    const auto targets = mixed_targets(labels, 7, kSmoothing, plan);
    EXPECT_TRUE(close(targets, own * smooth + (1.0 - own) * smooth.flip({0}), kRounding));
    EXPECT_TRUE(close(targets.sum(1), torch::ones({count}), kRounding));
  }
  EXPECT_GT(cuts, 8);
  EXPECT_LT(cuts, 32);
}

TEST(Mixing, CutsBoxesInsideThePictureThatAreAsLargeAsDrawn) {
  // With numbers from Beta(1, 1), the side of the box is √(1 - λ) of the picture's before it is cut off at the border.
  double sum = 0.0;
  constexpr std::int64_t kDraws = 4000;
  for (std::int64_t step = 0; step < kDraws; ++step) {
    const auto plan = plan_mixing({.cutmix = 1.0}, draw_of(1, step), {1000, 1000});
    const auto top = box_entry(plan, 0, 0);
    const auto left = box_entry(plan, 0, 1);
    const auto height = box_entry(plan, 0, 2);
    const auto width = box_entry(plan, 0, 3);
    ASSERT_TRUE(top >= 0 && left >= 0 && height >= 0 && width >= 0 && top + height <= 1000 && left + width <= 1000);
    sum += 1.0 - plan.target_weight[0].item<double>();
  }
  // E[(r - r²/4)²] for r² uniform, what is cut off at two borders of both axes included: 1/2 - 1/5 + 1/48.
  EXPECT_NEAR(sum / kDraws, 0.5 - 0.2 + 1.0 / 48.0, 0.016);
}

TEST(Mixing, HappensAsOftenAsAsked) {
  int mixed = 0;
  int cut = 0;
  constexpr std::int64_t kDraws = 3000;
  for (std::int64_t step = 0; step < kDraws; ++step) {
    auto options = both();
    options.probability = 0.6;
    options.cutmix_share = 0.25;
    const auto plan = plan_mixing(options, draw_of(1, step), {1000, 1000});
    const bool cuts = box_entry(plan, 0, 2) > 0;
    const bool adds = plan.pixel_weight[0].item<float>() < 1.0F;
    mixed += cuts || adds ? 1 : 0;
    cut += cuts ? 1 : 0;
  }
  EXPECT_NEAR(mixed, 0.6 * kDraws, 4.0 * std::sqrt(0.24 * kDraws));
  EXPECT_NEAR(cut, 0.15 * kDraws, 4.0 * std::sqrt(0.1275 * kDraws));
}

TEST(Mixing, DrawsFromTheBetaDistribution) {
  for (const double alpha : {0.05, 0.2, 0.8, 1.0, 2.5, 40.0}) {
    base::Random random(1, {});
    double sum = 0.0;
    double squares = 0.0;
    constexpr int kDraws = 40000;
    for (int i = 0; i < kDraws; ++i) {
      const double x = symmetric_beta(alpha, random);
      ASSERT_TRUE(x >= 0.0 && x <= 1.0);
      sum += x;
      squares += (x - 0.5) * (x - 0.5);
    }
    const double variance = 1.0 / (4.0 * (2.0 * alpha + 1.0));
    EXPECT_NEAR(sum / kDraws, 0.5, 4.0 * std::sqrt(variance / kDraws));
    EXPECT_NEAR(squares / kDraws / variance, 1.0, 0.05);
  }
  base::Random random(2, {});
  for (int i = 0; i < 1000; ++i) ASSERT_FALSE(std::isnan(symmetric_beta(1e-4, random)));
}

TEST(Mixing, OfGroupsIsTheSameForOneProcessAndSeveral) {
  auto options = both();
  options.group = 4;
  const auto images = torch::randn({12, 3, kSize.height, kSize.width});
  const auto all = mixed_images(images, plan_mixing(options, draw_of(12, 3), kSize));
  const auto low = plan_mixing(options, draw_of(8, 3, 0, 12), kSize);
  const auto high = plan_mixing(options, draw_of(4, 3, 8, 12), kSize);
  EXPECT_TRUE(identical(mixed_images(images.slice(0, 0, 8), low), all.slice(0, 0, 8)));
  EXPECT_TRUE(identical(mixed_images(images.slice(0, 8), high), all.slice(0, 8)));
  EXPECT_EQ(low.partner[4].item<std::int64_t>(), 7);
}

TEST(Mixing, RefusesHalfAGroup) {
  auto options = both();
  options.group = 4;
  EXPECT_THROW(static_cast<void>(plan_mixing(options, draw_of(6, 0, 0, 12), kSize)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(plan_mixing(options, draw_of(6, 0, 6, 12), kSize)), std::invalid_argument);
  EXPECT_NO_THROW(static_cast<void>(plan_mixing(options, draw_of(6, 0), kSize))) << "the step's last group is short";
}

TEST(Mixing, TravelsInABatch) {
  const auto plan = plan_mixing(both(), draw_of(4, 1), kSize);
  const auto found = MixPlan::of(Batch(4, plan.named()));
  EXPECT_TRUE(identical(found.partner, plan.partner));
  EXPECT_TRUE(identical(found.box, plan.box));
  EXPECT_TRUE(identical(found.pixel_weight, plan.pixel_weight));
  EXPECT_TRUE(identical(found.target_weight, plan.target_weight));
  EXPECT_FALSE(MixPlan::of(Batch(1, {})).partner.defined());
}

}  // namespace
}  // namespace quest::data
