// Small images augmented all at once, against Augmenter, which takes them one by one.

#include "data/augment/small_batch.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <stdexcept>

#include "data/augment/augmenter.h"
#include "tests/testing/tensors.h"

namespace quest::data {
namespace {

using quest::testing::close;
using quest::testing::identical;

constexpr std::int64_t kSide = 16;

LabelledImages made_images(std::int64_t count) {
  torch::manual_seed(3);
  return {.images = torch::randint(0, 256, {count, 3, kSide, kSide}, at::kByte),
          .labels = torch::arange(count).remainder(5)};
}

Draw draw_of(std::int64_t step) {
  return {.seed = 2, .step = step, .step_samples = 32, .first = 8, .samples = {3, 1, 4, 1, 5, 9, 2, 6}};
}

AugmentOptions options_for_training() {
  AugmentOptions options;
  options.image_size = kSide;
  options.crop = Crop::simple;
  options.flip = 0.5;
  options.erasing = 0.5;
  options.statistics = {{0.49, 0.48, 0.45}, {0.25, 0.24, 0.26}};
  return options;
}

Picture picture_of(const at::Tensor& image) {
  const auto bytes = image.permute({1, 2, 0}).contiguous();
  const auto* first = bytes.const_data_ptr<std::uint8_t>();
  return {image.size(1), image.size(2), {first, first + bytes.numel()}};
}

at::Tensor one_by_one(const LabelledImages& from, const Draw& draw, const AugmentOptions& options) {
  const Augmenter augmenter(options);
  const auto result = torch::empty({std::ssize(draw.samples), 3, kSide, kSide});
  for (std::size_t i = 0; i < draw.samples.size(); ++i) {
    auto random = draw.random(i);
    augmenter.write_training(picture_of(from.images[draw.samples[i]]), random,
                             result[static_cast<std::int64_t>(i)].mutable_data_ptr<float>());
  }
  return result;
}

TEST(SmallBatch, IsWhatAugmenterMakesOfEveryImage) {
  const auto from = made_images(12);
  for (const Edge edge : {Edge::reflect, Edge::black}) {
    auto options = options_for_training();
    options.edge = edge;
    for (std::int64_t step = 0; step < 20; ++step) {
      const auto batch = small_training_batch(from, draw_of(step), options);
      EXPECT_EQ(batch.samples(), 8);
      EXPECT_TRUE(identical(batch["labels"], torch::tensor({3, 1, 4, 1, 0, 4, 2, 1}, at::kLong)));
      // Noise goes through other logarithms and cosines.
      EXPECT_TRUE(close(small_inputs(batch, options), one_by_one(from, draw_of(step), options), {.absolute = 1e-6}));
    }
    options.erasing = 0.0;
    const auto batch = small_training_batch(from, draw_of(0), options);
    EXPECT_TRUE(identical(small_inputs(batch, options), one_by_one(from, draw_of(0), options)));
  }
}

TEST(SmallBatch, IsMixedAtTheEnd) {
  const auto from = made_images(12);
  auto options = options_for_training();
  for (std::int64_t step = 1; step < 8; ++step) {
    options.mixing = {};
    const auto apart = small_inputs(small_training_batch(from, draw_of(step), options), options);
    options.mixing = {.mixup = 0.8, .cutmix = 1.0};
    const auto batch = small_training_batch(from, draw_of(step), options);
    const auto plan = plan_mixing(options.mixing, draw_of(step), {kSide, kSide});
    EXPECT_TRUE(identical(small_inputs(batch, options), mixed_images(apart, plan)));
    EXPECT_TRUE(identical(MixPlan::of(batch).target_weight, plan.target_weight));
  }
}

TEST(SmallBatch, OfImagesAloneIsNormalised) {
  const auto from = made_images(4);
  auto options = options_for_training();
  options.statistics = {{0.5, 0.25, 0.125}, {0.5, 2.0, 0.25}};
  const auto inputs = small_inputs(Batch(4, {{"pixels", from.images}}), options);
  const auto mean = torch::tensor({0.5, 0.25, 0.125}, at::kDouble).view({1, 3, 1, 1});
  const auto deviation = torch::tensor({0.5, 2.0, 0.25}, at::kDouble).view({1, 3, 1, 1});
  EXPECT_TRUE(close(inputs, (from.images.to(at::kDouble) / 255.0 - mean) / deviation, {.absolute = 1e-6}));
}

TEST(SmallBatch, ServesOneChannel) {
  auto from = made_images(12);
  from.images = from.images.slice(1, 0, 1).contiguous();
  auto options = options_for_training();
  options.statistics = {{0.5}, {0.5}};
  const auto inputs = small_inputs(small_training_batch(from, draw_of(0), options), options);
  EXPECT_EQ(inputs.sizes(), (std::vector<std::int64_t>{8, 1, kSide, kSide}));
  EXPECT_TRUE(quest::testing::all_finite(inputs));
}

TEST(SmallBatch, RefusesWhatNeedsPicturesOneByOne) {
  const auto from = made_images(12);
  const auto problem_with = [&](const auto& change) -> std::string {
    auto options = options_for_training();
    change(options);
    try {
      static_cast<void>(small_training_batch(from, draw_of(0), options));
    } catch (const std::invalid_argument& problem) {
      return problem.what();
    }
    return "none";
  };
  EXPECT_EQ(problem_with([](AugmentOptions&) {}), "none");
  EXPECT_NE(problem_with([](auto& o) { o.crop = Crop::random_resized; }).find("augment.crop"), std::string::npos);
  EXPECT_NE(problem_with([](auto& o) { o.policy = "3-augment"; }).find("augment.policy"), std::string::npos);
  EXPECT_NE(problem_with([](auto& o) { o.color_jitter = 0.1; }).find("augment.color_jitter"), std::string::npos);
  EXPECT_NE(problem_with([](auto& o) { o.image_size = 32; }).find("32x32 pixels, got 16x16"), std::string::npos);
  EXPECT_NE(problem_with([](auto& o) { o.statistics = {{0.5}, {0.5}}; }).find("channels"), std::string::npos);
}

TEST(NormalNumbers, AreThoseOfTheGenerator) {
  constexpr std::int64_t kCount = 5000;
  const auto seeds =
      torch::tensor({std::int64_t{0}, std::int64_t{77}, std::int64_t{-1}, std::int64_t{1} << 62}, at::kLong);
  const auto found = normal_numbers(seeds.view({-1, 1}), torch::arange(kCount).view({1, -1}));
  for (std::int64_t i = 0; i < seeds.numel(); ++i) {
    base::Random random(static_cast<std::uint64_t>(seeds[i].item<std::int64_t>()), {});
    std::vector<double> expected(kCount);
    std::ranges::generate(expected, [&] { return random.normal(); });
    EXPECT_TRUE(close(found[i], torch::tensor(expected, at::kDouble), {.of_value = 1e-6, .absolute = 1e-7}));
  }
}

}  // namespace
}  // namespace quest::data
