#pragma once

// What a block of the forward owns, meets and keeps: in shared memory, and of its running softmax.

#include <type_traits>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/mask_tile.cuh"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/shared_tile.cuh"
#include "kernels/cuda/portable/store.cuh"

namespace quest::kernels::cuda::portable {

struct ForwardParameters {
  AttentionProblem problem;
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix out;
  float* lse;
  float* lse_low;              // where the mask is additive
  const float* query_factors;  // [B, H, Nq], or null
  const float* key_factors;    // [B, Hk, Nk], or null
  MaskBits mask_bits;
};

template <typename T, int kWidth, Extras kExtras>
struct ForwardShape {
  static constexpr bool kBiased = kExtras == Extras::additive_mask;
  static constexpr bool kNarrow = sizeof(T) == 2;
  // The pass for boolean masks takes registers from that without them.
  static constexpr bool kMasksApart = kNarrow && kWidth >= 128;
  static constexpr bool kMasksBounded = kNarrow && kExtras == (kMasksApart ? Extras::boolean_mask : Extras::none);
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowTiles = kNarrow && kWidth <= 128 ? 2 : 1;
  static constexpr int kQueries = kWarps * kRowTiles * 16;
  static constexpr bool kDense = kNarrow && kWidth >= 128 && !kBiased;  // for want of room
  static constexpr int kKeys = kWidth * sizeof(T) <= 256 || kDense ? 64 : kWidth * sizeof(T) <= 512 ? 32 : 16;
  // Tiles of keys and of values in shared memory, which may be no more than 99 KiB.
  static constexpr int kStages = kNarrow && (kWidth <= 32 || (kWidth > 64 && kWidth <= 128 && !kBiased)) ? 2 : 1;
  static constexpr bool kHeld = kNarrow && kWidth <= 32;
  static constexpr int kBlocksPerProcessor = kNarrow && kWidth <= (kBiased ? 32 : 64) ? 3 : 2;
  using QueryTile = SharedTile<T, kWidth, kQueries, kDense>;
  using KeyTile = SharedTile<T, kWidth, kKeys, kDense>;
  static constexpr bool kStagesMask = kNarrow && kBiased;
  using MaskTile = portable::MaskTile<kQueries, kKeys>;
  static constexpr bool kLoadsMask = !kNarrow && kBiased;
  static constexpr int kLoadedBlocks = kLoadsMask ? kKeys / 8 : 1;
};

template <typename Shape>
struct ForwardMemory : MaskMemory<typename Shape::MaskTile, Shape::kStagesMask> {
  alignas(Shape::QueryTile::kAlignment) uint8_t queries[Shape::QueryTile::kBytes];
  alignas(Shape::KeyTile::kAlignment) uint8_t keys[Shape::kStages][Shape::KeyTile::kBytes];
  alignas(Shape::KeyTile::kAlignment) uint8_t values[Shape::kStages][Shape::KeyTile::kBytes];
  float query_factors[Shape::kQueries];
  alignas(8) float key_factors[Shape::kStages][Shape::kKeys];
  DropoutKeys dropout[Shape::kQueries];
  uint8_t nonfinite[Shape::kKeys];
};

// Exponents of weights, in units of log 2, when bounds take the place of maxima: weights are kept under 2^kMost, and
// blocks with a bound over kLargest are not tried.
template <typename T>
struct BoundedWeights {
  static constexpr float kMost = std::is_same_v<T, __half> ? 14.0f : 40.0f;
  static constexpr float kLargest = std::is_same_v<T, __half> ? 24.0f : 100.0f;
  // Of offsets, with which the weight of a key that is seen cannot be too small for T: down to 2^(-kMost - 2 · offset).
  static constexpr float kMostWithoutZeros = std::is_same_v<T, __half> ? 0.0f : 40.0f;

  // Whether rounding left nothing out: half precision has few numbers below one, and a sum over `keys` says only how
  // large weights are on average.
  __device__ static bool resolved(float sum, int keys) {
    return sum >= (std::is_same_v<T, __half> ? 0x1p-13f * static_cast<float>(keys) : 0x1p-60f) && sum < kInfinity;
  }
};

// What a block meets its keys with: bounded logits, perhaps with dropout; those and a boolean mask; a mask of T and
// unit keys; or anything.
enum class ForwardPass { bounded, masked, biased, any };

// The running softmax of a lane's two rows in each row tile.
template <int kRowTiles>
struct RunningRows {
  float most[kRowTiles][2];    // or offsets, where logits are bounded
  Accumulator sum[kRowTiles];  // as TileMma::add_sums keeps them

  __device__ RunningRows() {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      most[r][0] = most[r][1] = -kInfinity;
      sum[r] = {};
    }
  }

  // Raises the maxima of row tile r; what was summed with the old ones shrinks.
  template <int kBlocks, int kOutBlocks>
  __device__ void raise(int r, const Accumulator (&scores)[kBlocks], Accumulator (&out)[kOutBlocks], float unit) {
    float now[2] = {scores[0].x[0], scores[0].x[2]};
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) now[i / 2] = fmaxf(now[i / 2], scores[block].x[i]);
    }
    float shrink[2];
    bool same = true;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      now[half] = fmaxf(most[r][half], quad_max(now[half]));
      same &= now[half] == most[r][half];
      shrink[half] = now[half] == most[r][half] ? 1.0f : exp2_fast((most[r][half] - now[half]) * unit);
      most[r][half] = now[half];
    }
    if (__all_sync(0xffffffffu, same)) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[r].x[i] *= shrink[i / 2];
    scale_rows(out, shrink[0], shrink[1]);
  }

  // No visible key so far: any finite number gives weights of 0.
  __device__ float finite_most(int r, int half) const { return most[r][half] == -kInfinity ? 0.0f : most[r][half]; }
};

}  // namespace quest::kernels::cuda::portable
