#include "data/augment/pixel_batch.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <array>

namespace quest::data {
namespace {

using FloatOfByte = std::array<float, 256>;

FloatOfByte normalized_bytes(const PixelScale& scale) {
  FloatOfByte table{};
  for (std::size_t i = 0; i < table.size(); ++i) {
    table[i] = (static_cast<float>(i) / 255.0F - scale.mean) / scale.deviation;
  }
  return table;
}

struct Move {
  std::int64_t down = 0;
  std::int64_t right = 0;
  bool flip = false;
};

struct Plane {
  std::int64_t height;
  std::int64_t width;

  [[nodiscard]] std::int64_t pixels() const { return height * width; }
};

void copy_moved(const std::uint8_t* from, float* to, const Plane& plane, const Move& move, const FloatOfByte& value) {
  for (std::int64_t row = 0; row < plane.height; ++row) {
    const std::int64_t from_row = row - move.down;
    const bool row_exists = from_row >= 0 && from_row < plane.height;
    for (std::int64_t column = 0; column < plane.width; ++column) {
      const std::int64_t moved = column - move.right;
      const bool exists = row_exists && moved >= 0 && moved < plane.width;
      const std::int64_t from_column = move.flip ? plane.width - 1 - moved : moved;
      to[row * plane.width + column] = value[exists ? from[from_row * plane.width + from_column] : 0];
    }
  }
}

}  // namespace

Batch pixel_batch(const LabelledImages& from, std::span<const std::int64_t> samples, const PixelScale& scale,
                  const Augmentation& augmentation, const std::function<base::Random(std::size_t)>& random) {
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t channels = from.images.size(1);
  const Plane plane{.height = from.images.size(2), .width = from.images.size(3)};
  auto images = at::empty({count, channels, plane.height, plane.width}, at::kFloat);
  auto labels = at::empty({count}, at::kLong);
  const auto reach = static_cast<std::uint64_t>(2 * augmentation.shift + 1);
  auto* to = images.mutable_data_ptr<float>();
  auto* label = labels.mutable_data_ptr<std::int64_t>();
  const auto* all_images = from.images.const_data_ptr<std::uint8_t>();
  const auto* all_labels = from.labels.const_data_ptr<std::int64_t>();
  const auto value = normalized_bytes(scale);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    Move move{};
    if (random) {
      auto own = random(i);
      move = {.down = static_cast<std::int64_t>(own.below(reach)) - augmentation.shift,
              .right = static_cast<std::int64_t>(own.below(reach)) - augmentation.shift,
              .flip = augmentation.flip && own.below(2) == 1};
    }
    for (std::int64_t channel = 0; channel < channels; ++channel) {
      copy_moved(all_images + (samples[i] * channels + channel) * plane.pixels(), to, plane, move, value);
      to += plane.pixels();
    }
    label[i] = all_labels[samples[i]];
  }
  return {count, {{"inputs", images}, {"labels", labels}}};
}

}  // namespace quest::data
