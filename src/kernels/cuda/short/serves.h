#pragma once

// Which problems the short-sequence kernels can take, in plain C++: no CUDA header.

#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda::short_sequence {

inline constexpr std::int64_t kDims[] = {16, 32, 64, 80, 96, 128};

// A block keeps two tensors of a head and two floats per row in shared memory.
inline constexpr std::int64_t kSharedBytes = 232'448;
constexpr std::int64_t shared_bytes(std::int64_t dim, std::int64_t rows) { return rows * (2 * dim * 2 + 8); }

// Causal or not, both 16-bit types: 3216, 1696, 880, 704, 592, 432 rows. Zero for other dimensions.
constexpr std::int64_t longest(std::int64_t dim) {
  for (const std::int64_t known : kDims) {
    if (dim == known) return kSharedBytes / shared_bytes(dim, 1) / 16 * 16;
  }
  return 0;
}

// The copies move 16 bytes at a time.
template <typename Pointer>
bool aligned(const HeadMatrix<Pointer>& tensor, const AttentionProblem& p) {
  const auto good = [](std::int64_t size, std::int64_t stride) {
    return size == 1 || (stride > 0 && stride % 8 == 0 && stride < std::int64_t{1} << 38);
  };
  return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 && good(p.batch, tensor.batch_stride) &&
         good(p.heads, tensor.head_stride) && good(p.keys, tensor.row_stride) &&
         tensor.row_stride <= std::numeric_limits<std::int32_t>::max();
}

// Unit keys are kept times the scale, in the storage type.
inline bool scale_fits(const AttentionProblem& p) {
  const float largest = p.type == StorageType::float16 ? 0x1p6F : 0x1p60F;
  const float size = std::fabs(p.scale);
  return size >= 1 / largest && size <= largest;
}

inline bool serves(const AttentionProblem& p) {
  const bool plain_quest = p.normalize_k && !p.normalize_q && p.gain == nullptr;
  const bool whole_heads = p.mask.type == MaskType::none && p.key_lengths == nullptr && p.cu_seqlens_q == nullptr;
  const bool square = p.queries == p.keys && p.dim == p.value_dim && p.heads == p.kv_heads;
  return plain_quest && whole_heads && square && p.dropout_p == 0 && p.type != StorageType::float32 && scale_fits(p) &&
         p.keys >= 1 && p.keys <= longest(p.dim) && p.batch * p.heads >= 1 &&
         p.batch * p.heads < std::int64_t{1} << 30 && aligned(p.q, p) && aligned(p.k, p) && aligned(p.v, p);
}

}  // namespace quest::kernels::cuda::short_sequence
