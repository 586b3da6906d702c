#include "data/augment/small_batch.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <array>
#include <numbers>
#include <stdexcept>
#include <utility>
#include <vector>

namespace quest::data {
namespace {

constexpr const char* kMoves = "moves";  // int64 [B, 3]: the first row and column seen, and 1 for mirrored
constexpr const char* kErased = "erased_boxes";
constexpr const char* kNoise = "noise_seeds";

PictureSize size_of(const at::Tensor& images) { return {images.size(2), images.size(3)}; }

void expect_usable(const at::Tensor& images, const AugmentOptions& options) {
  if (const auto obstacle = obstacle_to_small_batches(options); !obstacle.empty())
    throw std::invalid_argument(obstacle);
  if (const auto problem = problem_of(options); !problem.empty()) throw std::invalid_argument(problem);
  if (images.size(1) != std::ssize(options.statistics.mean)) {
    throw std::invalid_argument("images have " + std::to_string(images.size(1)) +
                                " channels; augment.mean and augment.deviation must have as many numbers, got " +
                                std::to_string(options.statistics.mean.size()));
  }
  const auto [height, width] = size_of(images);
  if (height != options.image_size || width != options.image_size) {
    throw std::invalid_argument("expected images of " + std::to_string(options.image_size) + "x" +
                                std::to_string(options.image_size) + " pixels, got " + std::to_string(height) + "x" +
                                std::to_string(width));
  }
}

struct Decisions {
  at::Tensor moves;
  at::Tensor erased;
  at::Tensor noise;
};

// In the order of Augmenter.
Decisions decide(const Draw& draw, const AugmentOptions& options) {
  const auto count = std::ssize(draw.samples);
  Decisions result{at::empty({count, 3}, at::kLong), at::empty({count, 4}, at::kLong), at::empty({count}, at::kLong)};
  auto* move = result.moves.mutable_data_ptr<std::int64_t>();
  auto* erased = result.erased.mutable_data_ptr<std::int64_t>();
  auto* noise = result.noise.mutable_data_ptr<std::int64_t>();
  const auto side = options.image_size;
  const PaddedCrop crop{side, options.padding, options.edge};
  for (std::int64_t i = 0; i < count; ++i, move += 3, erased += 4) {
    auto random = draw.random(static_cast<std::size_t>(i));
    move[0] = options.crop == Crop::none ? 0 : random_offset(side, crop, random);
    move[1] = options.crop == Crop::none ? 0 : random_offset(side, crop, random);
    move[2] = random.uniform() < options.flip ? 1 : 0;
    const auto box = erased_box({side, side}, options.erasing, random);
    std::ranges::copy(std::to_array({box.top, box.left, box.height, box.width}), erased);
    noise[i] = static_cast<std::int64_t>(random.bits());
  }
  return result;
}

at::Tensor reflected_places(const at::Tensor& places, std::int64_t length) {
  const auto last = length - 1;
  return (last - (last - places.abs()).abs()).clamp(0, last);
}

at::Tensor moved(const at::Tensor& images, const at::Tensor& moves, Edge edge) {
  const auto [height, width] = size_of(images);
  const auto along = [&](std::int64_t length) { return at::arange(length, moves.options()).unsqueeze(0); };
  const auto columns_seen = along(width);
  const auto mirrored = moves.select(1, 2).unsqueeze(1);
  const auto rows = along(height) + moves.select(1, 0).unsqueeze(1);
  const auto columns = columns_seen + mirrored * (width - 1 - 2 * columns_seen) + moves.select(1, 1).unsqueeze(1);
  const auto from_row = reflected_places(rows, height).unsqueeze(2);
  const auto places = (from_row * width + reflected_places(columns, width).unsqueeze(1)).flatten(1).unsqueeze(1);
  auto result = images.flatten(2).gather(2, places.expand({-1, images.size(1), -1})).view(images.sizes());
  if (edge == Edge::reflect) return result;
  const auto outside = [](const at::Tensor& place, std::int64_t length) {
    return (place < 0).logical_or(place >= length);
  };
  return result.masked_fill_(
      outside(rows, height).view({-1, 1, height, 1}).logical_or(outside(columns, width).view({-1, 1, 1, width})), 0);
}

at::Tensor normalised(const at::Tensor& images, const PixelStatistics& statistics) {
  auto result = images.to(at::kFloat).div_(255.0);
  for (std::int64_t c = 0; c < images.size(1); ++c) {
    const auto channel = static_cast<std::size_t>(c);
    result.select(1, c)
        .sub_(static_cast<float>(statistics.mean[channel]))
        .div_(static_cast<float>(statistics.deviation[channel]));
  }
  return result;
}

at::Tensor erased(const at::Tensor& images, const at::Tensor& boxes, const at::Tensor& seeds) {
  const auto [height, width] = size_of(images);
  const auto of_box = [&](std::int64_t axis) { return boxes.select(1, axis).view({-1, 1, 1, 1}); };
  const auto along = [&](std::int64_t length, at::IntArrayRef shape) {
    return at::arange(length, boxes.options()).view(shape);
  };
  const auto channel = along(images.size(1), {1, -1, 1, 1});
  const auto row = along(height, {1, 1, -1, 1}) - of_box(0);
  const auto column = along(width, {1, 1, 1, -1}) - of_box(1);
  const auto index = (channel * of_box(2) + row) * of_box(3) + column;
  return at::where(inside_boxes(boxes, {height, width}), normal_numbers(seeds.view({-1, 1, 1, 1}), index), images);
}

// base::Random's arithmetic, which wraps, on int64.
class RandomBits {
 public:
  static at::Tensor mixed(at::Tensor x) {
    x = (x ^ shifted(x, 30)) * static_cast<std::int64_t>(0xbf58476d1ce4e5b9);
    x = (x ^ shifted(x, 27)) * static_cast<std::int64_t>(0x94d049bb133111eb);
    return x ^ shifted(x, 31);
  }

  static at::Tensor uniform(const at::Tensor& key, const at::Tensor& counter) {
    const auto bits = mixed(key + counter * static_cast<std::int64_t>(0x9e3779b97f4a7c15));
    return shifted(bits, 11).to(at::kDouble).mul_(0x1p-53);
  }

 private:
  // Torch shifts the sign in; a generator does not.
  static at::Tensor shifted(const at::Tensor& x, int bits) {
    return x.bitwise_right_shift(bits).bitwise_and_((std::int64_t{1} << (64 - bits)) - 1);
  }
};

}  // namespace

std::string obstacle_to_small_batches(const AugmentOptions& options) {
  if (options.crop == Crop::random_resized) return "small images are not resized: augment.crop must be none or simple";
  if (options.policy != "none") return "small images have no augment.policy; set it to \"none\"";
  if (options.color_jitter > 0.0) return "small images have no augment.color_jitter; set it to 0";
  return "";
}

Batch small_training_batch(const LabelledImages& from, const Draw& draw, const AugmentOptions& options) {
  expect_usable(from.images, options);
  const auto count = std::ssize(draw.samples);
  const auto samples = at::tensor(draw.samples, at::kLong);
  std::vector<std::pair<std::string, at::Tensor>> tensors = {{"pixels", from.images.index_select(0, samples)},
                                                             {"labels", from.labels.index_select(0, samples)}};
  const auto decisions = decide(draw, options);
  tensors.emplace_back(kMoves, decisions.moves);
  if (options.erasing > 0.0) {
    tensors.emplace_back(kErased, decisions.erased);
    tensors.emplace_back(kNoise, decisions.noise);
  }
  for (auto& tensor : plan_mixing(options.mixing, draw, size_of(from.images)).named()) tensors.push_back(tensor);
  return {count, std::move(tensors)};
}

at::Tensor small_inputs(const Batch& batch, const AugmentOptions& options) {
  const auto moves = batch.get(kMoves);
  const auto& images = batch["pixels"];
  auto inputs = normalised(moves.defined() ? moved(images, moves, options.edge) : images, options.statistics);
  if (const auto boxes = batch.get(kErased); boxes.defined()) inputs = erased(inputs, boxes, batch[kNoise]);
  return mixed_images(inputs, MixPlan::of(batch));
}

at::Tensor normal_numbers(const at::Tensor& seeds, const at::Tensor& indices) {
  const auto key = RandomBits::mixed(seeds);
  const auto counter = indices * 2;
  const auto radius = (1.0 - RandomBits::uniform(key, counter + 1)).log_().mul_(-2.0).sqrt_();
  const auto angle = RandomBits::uniform(key, counter + 2).mul_(2.0 * std::numbers::pi);
  return angle.cos_().mul_(radius).to(at::kFloat);
}

}  // namespace quest::data
