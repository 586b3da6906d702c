#pragma once

// What the host tells the tiled kernels, and how blocks find their rows.

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <type_traits>

#include "kernels/attention_problem.h"
#include "kernels/sequence.h"

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

// Slots for the row tiles of one head. Where lengths are known to the device only, sequence s takes the slots from
// cu_seqlens[s] / tile + s on, which are never fewer than its tiles.
constexpr std::int64_t tile_slots(bool packed, std::int64_t batch, std::int64_t rows, int tile) {
  return packed ? rows / tile + batch : ceil_div(rows, tile);
}

struct Place {
  std::int64_t sequence = 0;
  int head = 0;
  int tile = 0;

  // Of block `block` among batch · heads · slots of them (heads · slots when packed).
  constexpr Place(const AttentionProblem& p, const std::int64_t* cu_seqlens, std::int64_t rows, std::int64_t heads,
                  int tile_rows, unsigned block) {
    const auto slots = static_cast<unsigned>(tile_slots(cu_seqlens != nullptr, p.batch, rows, tile_rows));
    tile = static_cast<int>(block % slots);
    head = static_cast<int>(block / slots % static_cast<unsigned>(heads));
    sequence = block / slots / static_cast<unsigned>(heads);
    if (cu_seqlens == nullptr) return;
    std::int64_t end = p.batch;
    while (end - sequence > 1) {
      const std::int64_t middle = (sequence + end) / 2;
      (cu_seqlens[middle] / tile_rows + middle <= tile ? sequence : end) = middle;
    }
    tile -= static_cast<int>(cu_seqlens[sequence] / tile_rows + sequence);
  }
};

inline std::int64_t block_count(const AttentionProblem& p, std::int64_t rows, std::int64_t heads, int tile_rows) {
  const bool packed = p.cu_seqlens_q != nullptr;
  return (packed ? 1 : p.batch) * heads * tile_slots(packed, p.batch, rows, tile_rows);
}

// Calls f<T, width>() with the element type and the width to which both head dimensions are padded.
template <typename F>
auto with_shape(const AttentionProblem& p, F f) {
  const std::int64_t dim = p.dim > p.value_dim ? p.dim : p.value_dim;
  const auto with_width = [&]<typename T>() {
    if constexpr (sizeof(T) == 2) {
      if (dim <= 32) return f.template operator()<T, 32>();
    }
    if (dim <= 64) return f.template operator()<T, 64>();
    if (dim <= 128) return f.template operator()<T, 128>();
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
