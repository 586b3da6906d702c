#pragma once

// Rows that Hopper's kernels can copy 16 bytes at a time.

#include <cstdint>
#include <limits>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda {

template <typename Pointer>
bool aligned(const HeadMatrix<Pointer>& tensor, const AttentionProblem& p) {
  const auto good = [](std::int64_t size, std::int64_t stride) {
    return size == 1 || (stride > 0 && stride % 8 == 0 && stride < std::int64_t{1} << 38);
  };
  return reinterpret_cast<std::uintptr_t>(tensor.data) % 16 == 0 && good(p.batch, tensor.batch_stride) &&
         good(p.heads, tensor.head_stride) && good(p.keys, tensor.row_stride) &&
         tensor.row_stride <= std::numeric_limits<std::int32_t>::max();
}

}  // namespace quest::kernels::cuda
