#include "data/augment/pixel_batch.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/randint.h>

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
  std::int64_t down;
  std::int64_t right;
  bool flip;
};

void copy_moved(const std::uint8_t* from, float* to, std::int64_t side, const Move& move, const FloatOfByte& value) {
  for (std::int64_t row = 0; row < side; ++row) {
    const std::int64_t from_row = row - move.down;
    const bool row_exists = from_row >= 0 && from_row < side;
    for (std::int64_t column = 0; column < side; ++column) {
      const std::int64_t moved = column - move.right;
      const bool exists = row_exists && moved >= 0 && moved < side;
      const std::int64_t from_column = move.flip ? side - 1 - moved : moved;
      to[row * side + column] = value[exists ? from[from_row * side + from_column] : 0];
    }
  }
}

}  // namespace

PixelBatch pixel_batch(const LabelledImages& from, std::span<const std::int64_t> samples,
                       const Augmentation& augmentation, const PixelScale& scale) {
  const auto count = static_cast<std::int64_t>(samples.size());
  const std::int64_t side = from.images.size(1);
  const std::int64_t pixels = side * side;
  PixelBatch batch{.images = at::empty({count, 1, side, side}, at::kFloat), .labels = at::empty({count}, at::kLong)};
  const std::int64_t reach = 2 * augmentation.shift + 1;
  const auto draws = at::randint(reach * reach * 2, {count}, at::kLong);
  const auto* draw = draws.const_data_ptr<std::int64_t>();
  auto* images = batch.images.mutable_data_ptr<float>();
  auto* labels = batch.labels.mutable_data_ptr<std::int64_t>();
  const auto* all_images = from.images.const_data_ptr<std::uint8_t>();
  const auto* all_labels = from.labels.const_data_ptr<std::int64_t>();
  const auto value = normalized_bytes(scale);
  at::parallel_for(0, count, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t sample = samples[static_cast<std::size_t>(i)];
      const Move move{.down = draw[i] / 2 % reach - augmentation.shift,
                      .right = draw[i] / 2 / reach - augmentation.shift,
                      .flip = augmentation.flip && draw[i] % 2 == 1};
      copy_moved(all_images + sample * pixels, images + i * pixels, side, move, value);
      labels[i] = all_labels[sample];
    }
  });
  return batch;
}

}  // namespace quest::data
