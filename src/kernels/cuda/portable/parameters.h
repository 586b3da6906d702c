#pragma once

// What the host tells the tiled kernels.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/attention_problem.h"
#include "kernels/cuda/place.h"

namespace quest::kernels::cuda::portable {

struct Matrix {
  void* data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
  int dim = 0;
  bool aligned = false;  // every row is whole 16-byte words

  Matrix() = default;
  template <typename Pointer>
  Matrix(const HeadMatrix<Pointer>& m, std::int64_t columns, StorageType type)
      : data(const_cast<void*>(static_cast<const void*>(m.data))),
        batch_stride(m.batch_stride),
        head_stride(m.head_stride),
        row_stride(m.row_stride),
        dim(static_cast<int>(columns)) {
    const std::int64_t unit = type == StorageType::float32 ? 4 : 8;
    aligned = reinterpret_cast<std::uintptr_t>(data) % 16 == 0 && batch_stride % unit == 0 && head_stride % unit == 0 &&
              row_stride % unit == 0 && columns % unit == 0;
  }
};

// What every processor from compute capability 8.0 on gives to one block, and what those of data centres give (8.0
// itself, 9.0, 10.0).
inline constexpr int kSharedMemory = 99 * 1024;
inline constexpr int kMoreSharedMemory = 163 * 1024;

// Calls f<T, width>() with the element type and the width to which both head dimensions are padded.
template <typename F>
auto with_shape(const AttentionProblem& p, F f) {
  const std::int64_t dim = p.dim > p.value_dim ? p.dim : p.value_dim;
  const auto with_width = [&]<typename T>() {
    if (dim <= 16) return f.template operator()<T, 16>();
    if (dim <= 32) return f.template operator()<T, 32>();
    if (dim <= 64) return f.template operator()<T, 64>();
    if (dim <= 96) return f.template operator()<T, 96>();
    if (dim <= 128) return f.template operator()<T, 128>();
    if (dim <= 192) return f.template operator()<T, 192>();
    return f.template operator()<T, 256>();
  };
  switch (p.type) {
    case StorageType::bfloat16:
      return with_width.template operator()<__nv_bfloat16>();
    case StorageType::float16:
      return with_width.template operator()<__half>();
    default:
      return with_width.template operator()<float>();
  }
}

}  // namespace quest::kernels::cuda::portable
