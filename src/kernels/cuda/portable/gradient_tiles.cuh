#pragma once

// What a block of the backward owns, streams and keeps in shared memory.

#include "kernels/cuda/portable/lead_back.cuh"
#include "kernels/cuda/portable/mask_tile.cuh"
#include "kernels/cuda/portable/pair_barriers.cuh"
#include "kernels/cuda/portable/query_terms.cuh"
#include "kernels/cuda/portable/shared_tile.cuh"

namespace quest::kernels::cuda::portable {

// `for_all`: dQ is summed as well. Twice the keys halve what is read and added for them, where a block may have the
// shared memory.
enum class Owns { queries, keys_and_values, keys_for_all, more_keys_for_all };

struct GradientParameters {
  AttentionProblem problem;  // prepared
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix grad_out;
  const QueryTerms* query_terms;  // [B, H, Nq]
  const float* lse_low;           // likewise, where the mask is additive
  Matrix grad_q;
  Matrix grad_k;
  Matrix grad_v;
  const float* key_reciprocals;
  const float* query_factors;  // [B, H, Nq], or null
  const float* key_factors;    // [B, Hk, Nk], or null
  QueryChain query_chain;
  const float* to_fixed;  // [B, H, Nq]
  int32_t* query_sums;    // [B, H, tiles][kSumRows · width]
  bool repeats_keys;      // as RemainingProblem's
  PackedMask mask_bits;
};

// Sums them, dQ into query_sums where there are any. Dropout alone has kernels of its own only where there are.
template <Extras kExtras>
cudaError_t launch_gradients(const GradientParameters& parameters, const Launch& launch);
extern template cudaError_t launch_gradients<Extras::none>(const GradientParameters& parameters, const Launch& launch);
extern template cudaError_t launch_gradients<Extras::dropout>(const GradientParameters& parameters,
                                                              const Launch& launch);
extern template cudaError_t launch_gradients<Extras::additive_mask>(const GradientParameters& parameters,
                                                                    const Launch& launch);

template <typename T, int kWidth, Owns kOwns, Extras kExtras = Extras::none>
struct GradientShape {
  static constexpr bool kBiased = kExtras == Extras::additive_mask;
  static constexpr bool kDraws = kExtras != Extras::none;
  static constexpr bool kKeySide = kOwns != Owns::queries;
  static constexpr bool kAddsQueries = kOwns >= Owns::keys_for_all;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  // The warps of a pair have the same owned rows: each computes the scores of half of the streamed rows and sums half
  // of the columns over all. Two row tiles of half the columns read less shared memory than one of all.
  static constexpr bool kPaired = kAddsQueries && kWidth >= 96;
  // Or half of the depth of all scores, which both of them need: registers have room for the sums of half of the
  // columns.
  static constexpr bool kSharesDepth = !kAddsQueries && kWidth > 128;
  static constexpr int kPair = kPaired || kSharesDepth ? 2 : 1;
  static constexpr int kWarps = kOwns == Owns::more_keys_for_all ? 8 : 4;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowTiles = kAddsQueries && kWidth <= 128 ? 2 : 1;  // of a warp
  static constexpr int kOwned = kWarps / kPair * kRowTiles * 16;
  static constexpr int kSumColumns = kWidth / kPair;  // of a warp
  static constexpr int kStreamed = kRowBytes > 256 && !kAddsQueries ? 16 : sizeof(T) == 2 ? 64 : 32;
  // Tiles of streamed rows in shared memory, which may be no more than 99 KiB: of q or k, and of dO or v.
  static constexpr int kStages = kRowBytes <= (kAddsQueries ? 384 : 512) ? 2 : 1;
  static constexpr int kSideStages = kAddsQueries ? 2 : kStages;  // and of what else belongs to queries
  static constexpr int kSecondStages = kWidth <= 64 ? 2 : 1;
  static constexpr int kPartRows = kStreamed / (kPaired ? kPair : kRowTiles);
  static constexpr int kParts = kPaired ? 1 : kRowTiles;  // that a warp takes of a tile of streamed rows, one by one
  static constexpr bool kHeld = sizeof(T) == 2 && kWidth * kRowTiles <= 64 && kKeySide;
  static constexpr bool kSmall = sizeof(T) == 2 && (kWidth <= 16 || (kWidth <= (kDraws ? 32 : 64) && !kKeySide));
  static constexpr int kBlocksPerProcessor = kSmall ? 3 : kWarps > 4 ? 1 : 2;
  // For want of room.
  static constexpr bool kDense =
      kPaired ? kSumColumns % 64 == 0 : kSharesDepth || (kAddsQueries && kBiased && kWidth == 64);
  using OwnedTile = SharedTile<T, kWidth, kOwned, kDense>;
  using StreamedTile = SharedTile<T, kWidth, kStreamed, kDense>;
  using StreamedPart = SharedTile<T, kWidth, kPartRows, kDense>;
  // The low parts of what belongs to queries: one kernel has no room for them.
  static constexpr bool kStagesLow = kBiased && !(kOwns == Owns::keys_for_all && kWidth == 128);
  static constexpr bool kStagesMask = sizeof(T) == 2 && kBiased;
  static constexpr int kMaskRows = kWarps * kRowTiles * 16;  // or columns, of all warps
  using MaskTile = portable::MaskTile<kKeySide ? kPartRows : kMaskRows, kKeySide ? kMaskRows : kStreamed>;
  static constexpr bool kLoadsMask = sizeof(T) == 4 && kBiased;
  static constexpr int kLoadedBlocks = kLoadsMask ? kPartRows / 8 : 1;
  using ScoreTile = SharedTile<T, kStreamed, kOwned, kDense || kPaired>;  // [keys][queries]
};

template <int kCount, bool kUsed>
struct FixedFactors {};
template <int kCount>
struct FixedFactors<kCount, true> {
  float to_fixed[kCount];
};

template <int kCount, bool kUsed>
struct LowParts {};
template <int kCount>
struct LowParts<kCount, true> {
  float lse_low[kCount];
};

template <int kCount, bool kUsed>
struct QueryDraws {};
template <int kCount>
struct QueryDraws<kCount, true> {
  DropoutKeys dropout[kCount];
};

template <typename Shape, int kCount>
struct QuerySide : FixedFactors<kCount, Shape::kAddsQueries>,
                   LowParts<kCount, Shape::kStagesLow>,
                   QueryDraws<kCount, Shape::kDraws && !Shape::kPaired> {
  alignas(16) QueryTerms terms[kCount];
};

template <typename Shape>
struct GradientTiles {
  static constexpr bool kKeySide = Shape::kKeySide;
  static constexpr int kQueries = kKeySide ? Shape::kStreamed : Shape::kOwned;
  alignas(Shape::OwnedTile::kAlignment) uint8_t owned[2][Shape::OwnedTile::kBytes];
  alignas(Shape::StreamedTile::kAlignment) uint8_t streamed_first[Shape::kStages][Shape::StreamedTile::kBytes];
  alignas(Shape::StreamedTile::kAlignment) uint8_t streamed_second[Shape::kSecondStages][Shape::StreamedTile::kBytes];
  QuerySide<Shape, kQueries> queries[kKeySide ? Shape::kSideStages : 1];
  float owned_factors[Shape::kOwned];
  alignas(8) float streamed_factors[Shape::kStages][Shape::kStreamed];
  uint8_t nonfinite[2][Shape::kStreamed];
  uint8_t owned_nonfinite[Shape::kOwned];
  PairBarriers<Shape::kPaired ? Shape::kWarps : 0> barriers;
};

// What pairs of warps need: the weights, in whose place each warp has its part of the mask until then, and draws for
// one tile only, there being no room for more.
template <typename Shape, bool kPaired = Shape::kPaired>
struct PairMemory {};

template <typename Shape>
struct PairMemory<Shape, true> {
  alignas(Shape::ScoreTile::kAlignment) uint8_t weights[Shape::ScoreTile::kBytes];
  DropoutKeys dropout[Shape::kStreamed];
};

// And what the sums of dQ are made of.
template <typename Shape, bool kAddsQueries = Shape::kAddsQueries>
struct ScoreMemory {};

template <typename Shape>
struct ScoreMemory<Shape, true> {
  alignas(Shape::ScoreTile::kAlignment) uint8_t score_gradients[Shape::ScoreTile::kBytes];
};

// Of one block of scores of each warp: there is no room for more.
template <typename Shape, bool kSharesDepth = Shape::kSharesDepth>
struct DepthMemory {};

template <typename Shape>
struct DepthMemory<Shape, true> {
  alignas(16) Accumulator scores[Shape::kThreads];
};

template <typename Shape>
struct GradientMemory : GradientTiles<Shape>,
                        PairMemory<Shape>,
                        ScoreMemory<Shape>,
                        DepthMemory<Shape>,
                        MaskMemory<typename Shape::MaskTile, Shape::kStagesMask && !Shape::kPaired> {};

// One step of a block's loop: one tile of streamed rows.
struct Step {
  int index;
  int head;  // of the queries
  int row;
};

// For each head the tiles from `first` to `last`, and around to `begin`: blocks that run at the same time begin with
// different tiles, not to add to the same sums.
struct Steps {
  int first;
  int last;
  int begin;
  int count;
  int head;

  __device__ Step first_step() const { return {0, head, begin}; }
  template <int kRows>
  __device__ Step after(Step step) const {
    const int row = step.row == last ? first : step.row + kRows;
    return {step.index + 1, row == begin ? step.head + 1 : step.head, row};
  }
};

// Of a block that owns rows from first_owned on, of a head whose group has `group` heads of queries.
template <typename Shape>
__device__ Steps steps_of(const ScoreRules& rules, int first_owned, int head, int group) {
  constexpr bool kKeySide = Shape::kKeySide;
  constexpr int kStreamed = Shape::kStreamed;
  if (first_owned >= (kKeySide ? rules.keys : rules.queries)) return {};
  const int visible = kKeySide ? rules.queries : rules.limit(min(first_owned + Shape::kOwned, rules.queries) - 1);
  const int first = kKeySide ? rules.first_query(first_owned) / kStreamed : 0;
  const int tiles = max(0, static_cast<int>(ceil_div(visible, kStreamed)) - first);
  const bool turns = Shape::kAddsQueries && !rules.causal;
  const int turn = turns ? static_cast<int>(static_cast<int64_t>(first_owned) * tiles / rules.keys) : 0;
  return {first * kStreamed, (first + tiles - 1) * kStreamed, (first + turn) * kStreamed,
          kKeySide ? tiles * group : tiles, kKeySide ? head * group : head};
}

}  // namespace quest::kernels::cuda::portable
