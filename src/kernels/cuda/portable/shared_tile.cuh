#pragma once

// Rows of a tensor in shared memory and how they get there.

#include <cstring>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/portable/parameters.h"

namespace quest::kernels::cuda::portable {

__device__ inline uint32_t shared_address(const void* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// kRowCount rows of kWidth elements. 16 bytes between rows keep ldmatrix and columns of words free of bank conflicts; a
// dense tile has no room for them and permutes the chunks of each eight rows instead.
template <typename T, int kWidth, int kRowCount, bool kDense = false>
struct SharedTile {
  static constexpr int kRows = kRowCount;
  static constexpr int kPeriod = 8;  // of the permutation, in rows and in chunks
  static constexpr int kLow = kPeriod - 1;
  static constexpr int kChunkElements = 16 / sizeof(T);
  static constexpr int kChunks = kWidth / kChunkElements;
  static constexpr int kRun = kChunks & -kChunks;  // chunks of a row that neighbouring threads copy: a power of two
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T)) + (kDense ? 0 : 16);
  static constexpr int kBytes = kRows * kRowBytes;
  static constexpr int kAlignment = kDense ? kPeriod * 16 : 16;

  uint32_t base;

  __device__ uint32_t chunk_address(int row, int chunk) const {
    static_assert(!kDense || kChunks % kPeriod == 0);
    return base + row * kRowBytes + (kDense ? chunk ^ (row & kLow) : chunk) * 16;
  }
  // The same for chunk (row + lane_row, chunk + lane_chunk), where `row` is a multiple of eight, `chunk` is even and
  // lane_chunk is 0 or 1: what does not depend on the lane takes one instruction and an immediate.
  __device__ uint32_t chunk_address(int row, int lane_row, int chunk, int lane_chunk) const {
    if constexpr (kDense) {
      return (chunk_address(lane_row, lane_chunk) ^ (chunk & kLow) * 16) + (chunk & ~kLow) * 16 + row * kRowBytes;
    }
    return chunk_address(row + lane_row, chunk + lane_chunk);
  }

  __device__ float element(int row, int column) const {
    const int within = column & (kChunkElements - 1);
    const uint32_t address =
        chunk_address(row, (column - within) / kChunkElements) + within * static_cast<int>(sizeof(T));
    if constexpr (sizeof(T) == 4) {
      float x;
      asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address));
      return x;
    } else {
      unsigned short bits;
      asm volatile("ld.shared.u16 %0, [%1];" : "=h"(bits) : "r"(address));
      return Element<T>::low(bits);
    }
  }
};

template <typename T>
struct Rows {
  const T* data;
  int64_t stride;
  int dim;
  bool aligned;

  __device__ Rows(const Matrix& m, int64_t batch, int64_t head, int64_t first_row)
      : data(static_cast<const T*>(m.data) + batch * m.batch_stride + head * m.head_stride + first_row * m.row_stride),
        stride(m.row_stride),
        dim(m.dim),
        aligned(m.aligned) {}

  __device__ float element(int row, int column) const {
    return column < dim ? static_cast<float>(data[row * stride + column]) : 0.0f;
  }
};

// Of a chunk of 16 bytes; the others become zero.
__device__ inline void copy_bytes(uint32_t destination, const void* source, int count) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(count));
}
__device__ inline void copy_chunk(uint32_t destination, const void* source, bool valid) {
  copy_bytes(destination, source, valid ? 16 : 0);
}
__device__ inline void copy_pair(uint32_t destination, const void* source, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8, %2;" ::"r"(destination), "l"(source), "r"(valid ? 8 : 0));
}
__device__ inline void copy_word(uint32_t destination, const void* source, bool valid) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"(destination), "l"(source), "r"(valid ? 4 : 0));
}
__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }
// All but the last kLast groups of copies.
template <int kLast = 0>
__device__ void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kLast) : "memory");
}

__device__ inline uint4 load_chunk(uint32_t address) {
  uint4 x;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(x.x), "=r"(x.y), "=r"(x.z), "=r"(x.w) : "r"(address));
  return x;
}
__device__ inline void store_chunk(uint32_t address, uint4 x) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(x.x), "r"(x.y), "r"(x.z), "r"(x.w)
               : "memory");
}

// f(i) for every i below kCount, each by one thread; without a loop where there are threads enough.
template <int kThreads, int kCount, typename F>
__device__ void each_of(F f) {
#pragma unroll
  for (int begin = 0; begin < kCount; begin += kThreads) {
    const int i = begin + static_cast<int>(threadIdx.x);
    if (i < kCount) f(i);
  }
}

// Starts copying rows [first, first + tile.kRows), which are whole words of 16 bytes; rows from `end` on and columns
// past the dimension become zero. There at the next wait_copies and barrier.
template <int kThreads, typename T, int kWidth, int kRows, bool kDense>
__device__ void stage(SharedTile<T, kWidth, kRows, kDense> tile, const Rows<T>& from, int first, int end) {
  using Tile = SharedTile<T, kWidth, kRows, kDense>;
  constexpr int kRun = Tile::kRun;
  static_assert(kRows * kRun % kThreads == 0 && kThreads % kRun == 0);
  constexpr int kSteps = kRows * kRun / kThreads;
  constexpr int kStepRows = kThreads / kRun;
  static_assert(!kDense || kStepRows % Tile::kPeriod == 0 || Tile::kPeriod % kStepRows == 0);
  static_assert(!kDense || kRun % Tile::kPeriod == 0);
  const int row = threadIdx.x / kRun;
  const uint32_t first_destination = tile.chunk_address(row, threadIdx.x % kRun);
#pragma unroll
  for (int run = 0; run < Tile::kChunks; run += kRun) {
    const int column = (run + threadIdx.x % kRun) * Tile::kChunkElements;
    const auto destination = [&](int i) {
      const int permutation = kDense ? (i * kStepRows & Tile::kLow) * 16 : 0;
      return (first_destination ^ permutation) + i * kStepRows * Tile::kRowBytes + run * 16;
    };
    const int valid_rows = column < from.dim ? end - first - row : 0;
    const T* source = from.data + (first + row) * from.stride + column;
#pragma unroll
    for (int i = 0; i < kSteps; ++i) {
      const bool valid = i * kStepRows < valid_rows;
      copy_chunk(destination(i), valid ? source : from.data, valid);
      source += kStepRows * from.stride;
    }
  }
}

// The same for rows of any size, one element after the other; there at the next barrier.
template <int kThreads, typename T, int kWidth, int kRows, bool kDense>
__device__ void store_elements(SharedTile<T, kWidth, kRows, kDense> tile, const Rows<T>& from, int first, int end) {
  using Tile = SharedTile<T, kWidth, kRows, kDense>;
#pragma unroll 1
  for (int index = threadIdx.x; index < kRows * Tile::kChunks; index += kThreads) {
    const int row = index / Tile::kChunks;
    const int column = index % Tile::kChunks * Tile::kChunkElements;
    T elements[Tile::kChunkElements];
#pragma unroll
    for (int i = 0; i < Tile::kChunkElements; ++i) {
      const bool valid = first + row < end && column + i < from.dim;
      elements[i] = valid ? from.data[(first + row) * from.stride + column + i] : T(0.0f);
    }
    uint4 words;
    memcpy(&words, elements, sizeof(words));
    store_chunk(tile.chunk_address(row, index % Tile::kChunks), words);
  }
}

// The same for one number of each row.
template <int kThreads, int kRows>
__device__ void stage(float (&numbers)[kRows], const float* from, int first, int end) {
  each_of<kThreads, kRows>([&](int i) {
    const bool valid = first + i < end;
    copy_word(shared_address(numbers + i), valid ? from + first + i : from, valid);
  });
}

template <typename T>
__device__ bool clear_nonfinite(uint32_t& word) {
  if constexpr (sizeof(T) == 4) {
    const bool found = (word & 0x7f800000u) == 0x7f800000u;
    if (found) word = 0;
    return found;
  } else {
    constexpr uint32_t kExponent = std::is_same_v<T, __half> ? 0x7c00u : 0x7f80u;
    const bool low = (word & kExponent) == kExponent;
    const bool high = (word >> 16 & kExponent) == kExponent;
    if (low) word &= 0xffff0000u;
    if (high) word &= 0x0000ffffu;
    return low || high;
  }
}

// Elements that are not finite become zero, so that a weight of zero times them is zero; flags[row] tells which rows
// had any. Called by all threads, with barriers before and after.
template <int kThreads, typename T, int kWidth, int kRows, bool kDense>
__device__ void clear_nonfinite(SharedTile<T, kWidth, kRows, kDense> tile, volatile uint8_t* flags) {
  using Tile = SharedTile<T, kWidth, kRows, kDense>;
  for (int row = threadIdx.x; row < kRows; row += kThreads) flags[row] = 0;
  __syncthreads();
#pragma unroll 1
  for (int index = threadIdx.x; index < kRows * Tile::kChunks; index += kThreads) {
    const uint32_t address = tile.chunk_address(index / Tile::kChunks, index % Tile::kChunks);
    uint4 x = load_chunk(address);
    bool found = clear_nonfinite<T>(x.x);
    found |= clear_nonfinite<T>(x.y);
    found |= clear_nonfinite<T>(x.z);
    found |= clear_nonfinite<T>(x.w);
    if (found) {
      flags[index / Tile::kChunks] = 1;
      store_chunk(address, x);
    }
  }
  __syncthreads();
}

}  // namespace quest::kernels::cuda::portable
