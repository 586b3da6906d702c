#pragma once

// Products of a warp's row tiles with tiles of shared memory.

#include "kernels/cuda/portable/tile_mma.cuh"

namespace quest::kernels::cuda::portable {

// A warp's 16 · kRowTiles rows as left operand: held in registers, or read again for every product.
template <typename T, int kWidth, int kRowTiles, bool kHeld>
struct LeftRows {
  using Operand = typename TileMma<T>::Operand;
  static constexpr int kSteps = kWidth * static_cast<int>(sizeof(T)) / 32;

  uint32_t base = 0;
  Operand held[kHeld ? kRowTiles : 1][kHeld ? kSteps : 1];

  template <typename Tile>
  __device__ void take(Tile tile, int first_row) {
    base = tile.chunk_address(first_row, 0);
    if constexpr (kHeld) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
        for (int step = 0; step < kSteps; ++step) held[r][step] = TileMma<T>::load_left(Tile{base}, r * 16, step);
      }
    }
  }
  template <typename Tile>
  __device__ Operand get(int row_tile, int step) const {
    if constexpr (kHeld) return held[row_tile][step];
    return TileMma<T>::load_left(Tile{base}, row_tile * 16, step);
  }
};

__device__ inline void add(Accumulator& to, const Accumulator& other) {
#pragma unroll
  for (int i = 0; i < 4; ++i) to.x[i] += other.x[i];
}

template <int kRowTiles, int kBlocks>
__device__ void clear(Accumulator (&sums)[kRowTiles][kBlocks]) {
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) sums[r][block] = {};
  }
}

struct Nothing {
  __device__ void operator()(int /*step*/) const {}
};

// scores = left · tileᵀ; after the products of each step, beside(step) gives the other units something to do.
template <typename LeftTile, typename T, int kWidth, int kRowTiles, bool kHeld, typename Tile,
          typename Beside = Nothing>
__device__ void multiply_rows(Accumulator (&scores)[kRowTiles][Tile::kRows / 8],
                              const LeftRows<T, kWidth, kRowTiles, kHeld>& left, Tile tile, Beside beside = {}) {
  constexpr bool kSplit = TileMma<T>::kSplit;
  constexpr int kLongestChain = 8;
  constexpr int kChainCount = (left.kSteps + kLongestChain - 1) / kLongestChain;
  constexpr int kChainSteps = (left.kSteps + kChainCount - 1) / kChainCount;
  constexpr bool kChains = kSplit && kChainCount > 1;
  Accumulator chain[kRowTiles][kChains ? Tile::kRows / 8 : 1] = {};
  Accumulator small[kRowTiles][kSplit ? Tile::kRows / 8 : 1] = {};
  const auto add_to_scores = [&](auto& sums) {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
      for (int block = 0; block < Tile::kRows / 8; ++block) add(scores[r][block], sums[r][block]);
    }
  };
#pragma unroll
  for (int step = 0; step < left.kSteps; ++step) {
    typename TileMma<T>::Operand a[kRowTiles];
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) a[r] = left.template get<LeftTile>(r, step);
#pragma unroll
    for (int block = 0; block < Tile::kRows / 8; block += 2) {
      const auto b = TileMma<T>::load_right(tile, block * 8, step);
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        if constexpr (kSplit) {
          TileMma<T>::multiply((kChains ? chain[r] : scores[r]) + block, small[r] + block, a[r], b);
        } else {
          TileMma<T>::multiply(scores[r] + block, a[r], b);
        }
      }
    }
    beside(step);
    if constexpr (kChains) {
      if ((step + 1) % kChainSteps == 0 || step + 1 == left.kSteps) {
        add_to_scores(chain);
        clear(chain);
      }
    }
  }
  if constexpr (kSplit) add_to_scores(small);
}

// The left operands that weights of kColumns columns make.
template <typename T, int kColumns>
struct Weights {
  static constexpr int kSteps = kColumns / TileMma<T>::kDepth;
  typename TileMma<T>::Operand steps[kSteps];

  __device__ explicit Weights(const Accumulator (&blocks)[kColumns / 8]) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) steps[i] = TileMma<T>::weights(blocks + i * TileMma<T>::kWeightBlocks);
  }
  // Part `part` of what store_operand left in 16 rows of a tile.
  template <typename Tile>
  __device__ Weights(Tile tile, int row, int part) {
#pragma unroll
    for (int i = 0; i < kSteps; ++i) steps[i] = TileMma<T>::load_left(tile, row, part * kSteps + i);
  }
  Weights() = default;
};

// sums += weights · tile, or as many of its columns as there are sums
template <typename T, int kRowTiles, int kBlocks, typename Tile>
__device__ void multiply_weights(Accumulator (&sums)[kRowTiles][kBlocks],
                                 const Weights<T, Tile::kRows> (&weights)[kRowTiles], Tile tile) {
  constexpr int kSteps = Weights<T, Tile::kRows>::kSteps;
  constexpr int kDepth = TileMma<T>::kDepth;
  if constexpr (TileMma<T>::kSplit) {
    constexpr bool kApart = kSteps > 2;
#pragma unroll
    for (int block = 0; block < kBlocks; block += 2) {
      Accumulator part[kRowTiles][2] = {};
      Accumulator small[kRowTiles][2] = {};
#pragma unroll
      for (int step = 0; step < kSteps; ++step) {
        const auto b = TileMma<T>::load_right_transposed(tile, step * kDepth, block / 2);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          TileMma<T>::multiply(part[r], kApart ? small[r] : part[r], weights[r].steps[step], b);
        }
      }
#pragma unroll
      for (int i = 0; i < 2 * kRowTiles; ++i) {
        if (kApart) add(part[i / 2][i % 2], small[i / 2][i % 2]);
        add(sums[i / 2][block + i % 2], part[i / 2][i % 2]);
      }
    }
  } else {
#pragma unroll
    for (int step = 0; step < kSteps; ++step) {
#pragma unroll
      for (int block = 0; block < kBlocks; block += 2) {
        const auto b = TileMma<T>::load_right_transposed(tile, step * kDepth, block / 2);
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) TileMma<T>::multiply(sums[r] + block, weights[r].steps[step], b);
      }
    }
  }
}

// Runs pass() and, if its sums are not all finite, once more with `guarded` set: zero times something hidden that is
// not finite shows there. kTwice: compiled twice, so that the ordinary one is free of what only the other needs.
template <bool kTwice, typename Pass, typename Finite>
__device__ void run_guarded(bool& guarded, Pass pass, Finite finite) {
  if constexpr (kTwice) {
    guarded = false;
    pass();
    if (!__syncthreads_or(!finite())) return;
    guarded = true;
    pass();
  } else {
    guarded = false;
#pragma unroll 1
    while (true) {
      pass();
      if (guarded || !__syncthreads_or(!finite())) break;
      guarded = true;
    }
  }
}

template <int kRowTiles, int kBlocks>
__device__ bool all_finite(const Accumulator (&sums)[kRowTiles][kBlocks]) {
  float zero = 0;
#pragma unroll
  for (int r = 0; r < kRowTiles; ++r) {
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) zero = fmaf(sums[r][block].x[i], 0.0f, zero);
    }
  }
  return zero == 0;
}

}  // namespace quest::kernels::cuda::portable
