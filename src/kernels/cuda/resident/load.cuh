#pragma once

#include <type_traits>

#include "kernels/cuda/device/key_scale.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident {

// Every quad owns the same rows in every tile, so what it copies it may also transform before the first barrier.
__device__ inline int first_owned_row() { return threadIdx.x / 4; }
__device__ inline int owned_rows_apart() { return blockDim.x / 4; }

__device__ inline void copy_chunk_async(uint32_t destination, const void* source, bool valid) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(destination), "l"(source), "r"(valid ? 16 : 0));
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;"); }

template <int kPending>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(kPending) : "memory");
}

// Rows from length up to the next multiple of 16 become zero.
template <typename T, typename AnyTile>
__device__ void copy_rows_async(AnyTile tile, Rows<const T> source, int length) {
  const int rows = round_up(length, 16);
#pragma unroll 4
  for (int row = first_owned_row(); row < rows; row += owned_rows_apart()) {
    const T* data = source[row < length ? row : 0];
#pragma unroll
    for (int chunk = lane_id() % 4; chunk < tile.kChunks; chunk += 4) {
      copy_chunk_async(tile.chunk_address(row, chunk), data + chunk * 8, row < length);
    }
  }
}

// Lets change(words) rewrite one of this quad's own keys. All lanes of a warp take part, also those whose row is past
// the end.
template <typename AnyTile, typename Change>
__device__ void change_key(AnyTile keys, int row, int length, Change change) {
  constexpr int kPerLane = (AnyTile::kChunks + 3) / 4;
  const int first = lane_id() % 4;
  uint32_t words[kPerLane * 4];
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    const bool valid = row < length && first + 4 * i < keys.kChunks;
    const uint4 x = valid ? load_shared(keys.chunk_address(row, first + 4 * i)) : uint4{0, 0, 0, 0};
    words[4 * i] = x.x;
    words[4 * i + 1] = x.y;
    words[4 * i + 2] = x.z;
    words[4 * i + 3] = x.w;
  }
  change(words);
#pragma unroll
  for (int i = 0; i < kPerLane; ++i) {
    if (row < length && first + 4 * i < keys.kChunks) {
      store_shared(keys.chunk_address(row, first + 4 * i),
                   {words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]});
    }
  }
}

inline constexpr auto kKeepNothing = [](int, float) {};

// Rounding unit keys would cost the scores a digit, so keys stay as they are, but for an exact power of two: of extreme
// keys, and of all in float16, whose range the gradients times key_factor / |k| would leave.
template <typename T, int kWords>
__device__ KeyScale tame_key(uint32_t (&words)[kWords], bool is_key) {
  KeyScale scale = key_scale<T>(words, is_key);
  if constexpr (std::is_same_v<T, __half>) {
    if (scale.reciprocal > 0) {
      scale.power = __uint_as_float(__float_as_uint(scale.reciprocal) & 0x7f800000u);
      scale.reciprocal /= scale.power;
    }
  }
  if (scale.power != 1) {
#pragma unroll
    for (uint32_t& word : words) word = pack<T>(low_half<T>(word) * scale.power, high_half<T>(word) * scale.power);
  }
  return scale;
}

// Tames the keys of a head and writes key_factor / |k| of each, as it then is, to shared memory: zero for rows past the
// end. Hands 1 / |k|, as it was, to keep.
template <typename T, typename AnyTile, typename Keep>
__device__ void tame_owned_keys(AnyTile keys, int length, float key_factor, uint32_t factors, Keep keep) {
  const int rows = round_up(length, 16);
#pragma unroll 2
  for (int row = first_owned_row(); row - lane_row() < rows; row += owned_rows_apart()) {
    change_key(keys, row, length, [&](auto& words) {
      const KeyScale scale = tame_key<T>(words, row < length);
      if (row >= rows || lane_id() % 4 != 0) return;
      store_shared(factors + row * 4, row < length ? scale.reciprocal * key_factor : 0.0f);
      keep(row, scale.reciprocal_norm());
    });
  }
}

// Copies a head's keys and values and tames the keys as soon as they are there; a barrier makes all of it visible.
template <typename T, typename AnyTile, typename Problem>
__device__ void load_keys_and_values(AnyTile keys, AnyTile values, const Problem& problem, HeadIndex head,
                                     uint32_t key_factors) {
  const int length = problem.shape.length;
  copy_rows_async(keys, problem.k[head], length);
  commit_copies();
  copy_rows_async(values, problem.v[head], length);
  commit_copies();
  wait_copies<1>();
  tame_owned_keys<T>(keys, length, problem.shape.key_factor, key_factors, kKeepNothing);
  wait_copies<0>();
}

// Minus the log-sum-exp (in units of log2) and minus the row sum of grad_out * out, for all rows of the head, to shared
// memory. Rows beyond length get weight zero through lse = +infinity.
template <int D, typename T>
__device__ void fill_row_constants(uint32_t negative_lse, uint32_t negative_delta, Rows<const T> grad_out,
                                   Rows<const T> out, const float* lse, int length) {
  // Rows whose loads fly together.
  constexpr int kAtOnce = D >= 64 ? 5 : 2;
  constexpr int kPerLane = (D / 8 + 3) / 4;
  const int rows = round_up(length, 16);
  const int apart = owned_rows_apart();
#pragma unroll 1
  for (int first = first_owned_row(); first - lane_row() < rows; first += kAtOnce * apart) {
    uint4 a[kAtOnce][kPerLane];
    uint4 b[kAtOnce][kPerLane];
    float row_lse[kAtOnce];
#pragma unroll
    for (int step = 0; step < kAtOnce; ++step) {
      const int row = first + step * apart;
      row_lse[step] = row < length ? lse[row] : INFINITY;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const int chunk = lane_id() % 4 + 4 * i;
        const bool valid = row < length && chunk < D / 8;
        a[step][i] = valid ? *reinterpret_cast<const uint4*>(out[row] + chunk * 8) : uint4{0, 0, 0, 0};
        b[step][i] = valid ? *reinterpret_cast<const uint4*>(grad_out[row] + chunk * 8) : uint4{0, 0, 0, 0};
      }
    }
#pragma unroll
    for (int step = 0; step < kAtOnce; ++step) {
      const int row = first + step * apart;
      float sum = 0;
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const uint4 x = a[step][i];
        const uint4 y = b[step][i];
        sum = dot_pair<T>(x.x, y.x, dot_pair<T>(x.y, y.y, dot_pair<T>(x.z, y.z, dot_pair<T>(x.w, y.w, sum))));
      }
      sum = quad_sum(sum);
      if (row < rows && lane_id() % 4 == 0) {
        store_shared(negative_delta + row * 4, -sum);
        store_shared(negative_lse + row * 4, -row_lse[step] * kLog2E);
      }
    }
  }
}

// 16 rows on their way from global memory to A operands; rows at or beyond length become zero. Splitting the fetch from
// the rearrangement lets the loads fly while something else is computed.
template <typename T, int D>
struct RowFetch {
  static constexpr int kGroups = D / 32;
  static constexpr bool kRest = D % 32 == 16;
  uint4 groups[2][kGroups > 0 ? kGroups : 1];
  uint32_t rest[2][2];

  __device__ void start(Rows<const T> source, int first_row, int length) {
    const int t = lane_id() % 4;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = first_row + half * 8 + lane_row();
      const bool valid = row < length;
      const T* data = source[valid ? row : 0];
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const auto* chunk = reinterpret_cast<const uint4*>(data + group * 32 + t * 8);
        groups[half][group] = valid ? *chunk : uint4{0, 0, 0, 0};
      }
      if constexpr (kRest) {
        const auto* words = reinterpret_cast<const uint32_t*>(data + D - 16 + 2 * t);
        rest[half][0] = valid ? words[0] : 0;
        rest[half][1] = valid ? words[4] : 0;
      }
    }
  }

  __device__ void finish(Fragment (&rows)[D / 16]) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int group = 0; group < kGroups; ++group) {
        const uint4 chunk = groups[half][group];
        uint32_t words[4] = {chunk.x, chunk.y, chunk.z, chunk.w};
        transpose_quad(words);
#pragma unroll
        for (int word = 0; word < 4; ++word) rows[2 * group + word / 2].x[half + 2 * (word % 2)] = words[word];
      }
      if constexpr (kRest) {
        rows[D / 16 - 1].x[half] = rest[half][0];
        rows[D / 16 - 1].x[half + 2] = rest[half][1];
      }
    }
  }
};

template <typename T, int kBlocks>
__device__ void load_global_fragments(Fragment (&rows)[kBlocks], Rows<const T> source, int first_row, int length) {
  RowFetch<T, kBlocks * 16> fetch;
  fetch.start(source, first_row, length);
  fetch.finish(rows);
}

template <int kBlocks, typename AnyTile>
__device__ void load_fragments(Fragment (&rows)[kBlocks], AnyTile tile, int first_row) {
#pragma unroll
  for (int depth = 0; depth < kBlocks; ++depth) rows[depth] = load_matrix(rows_first(tile, first_row, depth));
}

}  // namespace quest::kernels::cuda::resident
