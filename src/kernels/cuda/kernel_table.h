#pragma once

// Which kernels serve plain QUEST on Hopper: the one table that decides it, in plain C++ with no CUDA header.

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda {

enum class Kernel {
  mma_forward,         // warps own 16 or 32 queries; keys and values of the head in shared memory
  mma_head_backward,   // a block keeps all four tensors of a head
  mma_split_backward,  // half the blocks keep queries and output gradients, the other half keys and values
  group_forward,       // as mma_forward, with groups of four warps and wgmma
  group_backward,      // as mma_split_backward, with groups of four warps and wgmma
  wide_forward,        // persistent blocks of four groups; the copy engine brings the next head
  wide_backward,
  long_forward,  // tiles of keys pass by, the copy engine brings them
  long_backward,
};

// Whether queries see only keys up to their own.
enum class Limit { none, causal, either };

// Both ends belong to it.
struct Range {
  std::int64_t first;
  std::int64_t last;

  [[nodiscard]] constexpr bool contains(std::int64_t x) const { return first <= x && x <= last; }
};

struct KernelRow {
  Range dims;  // multiples of 8
  Limit limit;
  Range keys;
  Kernel forward;
  Kernel backward;  // in the same row, so that both passes round alike

  [[nodiscard]] constexpr int compiled_dim() const { return static_cast<int>(dims.last); }
  // A block then owns a head, or half of its work.
  [[nodiscard]] constexpr bool keeps_whole_heads() const { return forward != Kernel::long_forward; }
  [[nodiscard]] constexpr bool allows(Limit wanted) const { return limit == Limit::either || limit == wanted; }
  [[nodiscard]] constexpr bool serves(const AttentionProblem& p) const {
    const bool one_head_one_block =
        p.queries == p.keys && p.heads == p.kv_heads && p.batch * p.heads < std::int64_t{1} << 30;
    return dims.contains(p.dim) && p.dim % 8 == 0 && keys.contains(p.keys) &&
           allows(p.causal == Causal::none ? Limit::none : Limit::causal) &&
           (one_head_one_block || !keeps_whole_heads());
  }
};

// The first row that serves a problem has its kernels. Where one ends and another begins was measured on an H200
// (lab/2026-11-gpu-measurements.md), or is as far as shared memory holds what the kernel keeps there.
inline constexpr auto kKernelTable = [] {
  using enum Kernel;
  using enum Limit;
  constexpr std::int64_t kAnyLength = std::numeric_limits<std::int64_t>::max();
  return std::to_array<KernelRow>({
      {{16, 16}, either, {2, 800}, mma_forward, mma_head_backward},
      {{16, 16}, either, {801, 3216}, mma_forward, mma_split_backward},

      {{32, 32}, either, {2, 416}, mma_forward, mma_head_backward},
      {{32, 32}, none, {417, 1536}, mma_forward, mma_split_backward},
      {{32, 32}, causal, {417, 1696}, mma_forward, mma_split_backward},

      {{64, 64}, none, {2, 128}, mma_forward, mma_head_backward},
      {{64, 64}, none, {129, 208}, wide_forward, wide_backward},
      {{64, 64}, none, {209, 480}, group_forward, group_backward},
      {{64, 64}, causal, {2, 208}, mma_forward, mma_head_backward},
      {{64, 64}, causal, {209, 640}, mma_forward, group_backward},

      {{80, 80}, either, {2, 176}, mma_forward, mma_head_backward},
      {{80, 80}, none, {177, 208}, mma_forward, group_backward},
      {{80, 80}, none, {209, 576}, group_forward, group_backward},
      {{80, 80}, causal, {177, 576}, mma_forward, group_backward},
      {{80, 80}, causal, {577, 704}, mma_forward, mma_split_backward},

      {{96, 96}, either, {2, 144}, mma_forward, mma_head_backward},
      {{96, 96}, none, {145, 256}, mma_forward, group_backward},
      {{96, 96}, none, {257, 464}, group_forward, group_backward},
      {{96, 96}, causal, {145, 576}, mma_forward, mma_split_backward},

      {{128, 128}, either, {2, 96}, mma_forward, mma_head_backward},
      {{128, 128}, none, {97, 224}, mma_forward, group_backward},
      {{128, 128}, causal, {97, 288}, mma_forward, mma_split_backward},

      {{16, 64}, either, {129, kAnyLength}, long_forward, long_backward},
      {{72, 128}, either, {129, kAnyLength}, long_forward, long_backward},
  });
}();

// Null where no row serves it.
[[nodiscard]] constexpr const KernelRow* find_row(const AttentionProblem& problem) {
  const auto* row = std::ranges::find_if(kKernelTable, [&](const KernelRow& each) { return each.serves(problem); });
  return row == kKernelTable.end() ? nullptr : row;
}

// The most keys that a kernel is given, compiled for this head dimension; zero where it never runs.
[[nodiscard]] constexpr std::int64_t longest(Kernel kernel, int dim, Limit limit = Limit::either) {
  std::int64_t keys = 0;
  for (const KernelRow& row : kKernelTable) {
    const bool runs = row.forward == kernel || row.backward == kernel;
    const bool asked = limit == Limit::either || row.allows(limit);
    if (runs && asked && row.compiled_dim() == dim) keys = std::max(keys, row.keys.last);
  }
  return keys;
}

}  // namespace quest::kernels::cuda
