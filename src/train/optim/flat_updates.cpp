#include "train/optim/flat_updates.h"

#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "ops/parallel.h"

namespace quest::train {
namespace {

static_assert(kSliceUnit % kernels::cpu::kOptimizerUnit == 0);

// A task is a block of this many elements, so that a sum over blocks is the same for any number of threads.
constexpr std::int64_t kBlock = 1 << 14;
// What an element costs in arithmetic that would take as long: it waits for memory.
constexpr double kFlopsPerElement = 50.0;

struct Block {
  std::int64_t begin;
  std::int64_t count;
  std::size_t piece;
};

template <typename Run>
void for_each_block(std::int64_t size, const Run& run) {
  const std::int64_t blocks = (size + kBlock - 1) / kBlock;
  ops::run_tasks(blocks, kFlopsPerElement * static_cast<double>(size),
                 [&](std::int64_t first, std::int64_t last) { run(first * kBlock, std::min(last * kBlock, size)); });
}

std::vector<Block> blocks_of(std::span<const Piece> pieces) {
  std::vector<Block> blocks;
  for (std::size_t p = 0; p < pieces.size(); ++p) {
    const std::int64_t size = (pieces[p].count + kSliceUnit - 1) / kSliceUnit * kSliceUnit;
    for (std::int64_t at = 0; at < size; at += kBlock) {
      blocks.push_back({pieces[p].begin + at, std::min(kBlock, size - at), p});
    }
  }
  return blocks;
}

template <typename Run>
void for_each_block(const std::vector<Block>& blocks, const Run& run) {
  double size = 0;
  for (const Block& block : blocks) size += static_cast<double>(block.count);
  ops::run_tasks(static_cast<std::int64_t>(blocks.size()), kFlopsPerElement * size,
                 [&](std::int64_t first, std::int64_t last) {
                   for (std::int64_t b = first; b < last; ++b) run(static_cast<std::size_t>(b));
                 });
}

kernels::cpu::AdamRange pointers(const AdamBuffers& buffers, std::int64_t begin) {
  return {buffers.value.mutable_data_ptr<float>() + begin, buffers.gradient.const_data_ptr<float>() + begin,
          buffers.first_moment.mutable_data_ptr<float>() + begin,
          buffers.second_moment.mutable_data_ptr<float>() + begin};
}

void add_up(const Share& share, double* numbers, std::size_t count) {
  if (share.is_whole()) return;
  share.add_up(at::from_blob(numbers, {static_cast<std::int64_t>(count)}, at::kDouble));
}

std::vector<double> trust_ratios(const std::vector<Block>& blocks, const std::vector<kernels::cpu::SquareSums>& sums,
                                 std::size_t slices, const Share& share) {
  static_assert(sizeof(kernels::cpu::SquareSums) == 2 * sizeof(double));
  std::vector<kernels::cpu::SquareSums> of_slice(slices, {0.0, 0.0});
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    of_slice[blocks[b].piece].value += sums[b].value;
    of_slice[blocks[b].piece].update += sums[b].update;
  }
  add_up(share, &of_slice.front().value, 2 * slices);
  std::vector<double> ratios;
  ratios.reserve(slices);
  for (const auto& [value, update] : of_slice)
    ratios.push_back(value > 0 && update > 0 ? std::sqrt(value / update) : 1.0);
  return ratios;
}

}  // namespace

void adam(const AdamStep& step, const AdamBuffers& range) {
  if (!range.value.is_cpu()) return plain::adam(step, range);
  for_each_block(range.value.numel(), [&](std::int64_t begin, std::int64_t end) {
    kernels::cpu::adam(step, pointers(range, begin), end - begin);
  });
}

void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Piece> pieces,
          const Share& share) {
  if (!range.value.is_cpu()) return plain::lamb(step, weight_decay, range, pieces, share);
  const std::vector<Block> blocks = blocks_of(pieces);
  std::vector<kernels::cpu::SquareSums> sums(blocks.size());
  for_each_block(blocks, [&](std::size_t b) {
    sums[b] = kernels::cpu::adam_moments(step, weight_decay, pointers(range, blocks[b].begin), blocks[b].count);
  });
  const std::vector<double> ratios =
      weight_decay != 0 ? trust_ratios(blocks, sums, pieces.size(), share) : std::vector<double>(pieces.size(), 1.0);
  for_each_block(blocks, [&](std::size_t b) {
    AdamStep move = step;
    move.step_size *= ratios[blocks[b].piece];
    move.decay = move.step_size * weight_decay;
    kernels::cpu::adam_move(move, pointers(range, blocks[b].begin), blocks[b].count);
  });
}

void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer) {
  if (!value.is_cpu()) return plain::sgd(step, value, gradient, buffer);
  for_each_block(value.numel(), [&](std::int64_t begin, std::int64_t end) {
    kernels::cpu::sgd(step, value.mutable_data_ptr<float>() + begin, gradient.const_data_ptr<float>() + begin,
                      buffer.mutable_data_ptr<float>() + begin, end - begin);
  });
}

std::vector<double> slice_norms(const at::Tensor& range, std::span<const Piece> pieces, const Share& share) {
  const std::vector<Block> blocks = blocks_of(pieces);
  std::vector<double> sums(blocks.size());
  for_each_block(blocks, [&](std::size_t b) {
    sums[b] = kernels::cpu::sum_of_squares(range.const_data_ptr<float>() + blocks[b].begin, blocks[b].count);
  });
  std::vector<double> norms(pieces.size(), 0.0);
  for (std::size_t b = 0; b < blocks.size(); ++b) norms[blocks[b].piece] += sums[b];
  add_up(share, norms.data(), norms.size());
  for (double& norm : norms) norm = std::sqrt(norm);
  return norms;
}

}  // namespace quest::train
