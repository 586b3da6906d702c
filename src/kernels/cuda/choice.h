#pragma once

// Which kernel family serves a problem, and by which row of the table (kernel_table.h). Plain C++, no CUDA header, so
// that it can be asked and tested where there is no GPU.

#include <cstdint>
#include <string_view>

#include "kernels/attention_problem.h"
#include "kernels/cuda/kernel_table.h"

namespace quest::kernels::cuda {

// Of queries, keys and values.
inline constexpr std::int64_t kLargestDim = 256;

// Whether 16-bit rows of q, k and v are better converted to float32. PyTorch has 16-bit kernels for rows of whole
// 16-byte words; it pads others, but where they need a mask or differ in dimension it computes in float32 and rounds
// nothing but the result, and nobody should lose digits by leaving it.
[[nodiscard]] constexpr bool takes_float32(std::int64_t dim, std::int64_t value_dim, bool masked) {
  constexpr std::int64_t kWord = 8;
  return (dim % kWord != 0 || value_dim % kWord != 0) && (masked || dim != value_dim);
}

enum class KernelFamily {
  whole_head,     // a block owns a whole head in shared memory; Hopper, plain QUEST
  long_sequence,  // warp-specialised wgmma over tiles; Hopper, plain QUEST
  portable,       // mma.sync over tiles, every option, from Ampere on
};

struct FamilyChoice {
  KernelFamily family = KernelFamily::portable;
  std::string_view reason;
  const KernelRow* row = nullptr;  // of the table; none for portable
};

// For the forward and the backward, which round alike then. compute_capability is 10 · major + minor.
[[nodiscard]] FamilyChoice choose_family(const AttentionProblem& problem, int compute_capability);

[[nodiscard]] std::string_view name(KernelFamily family);

}  // namespace quest::kernels::cuda
