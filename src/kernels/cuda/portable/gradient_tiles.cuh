#pragma once

// What a block of the backward owns, streams and keeps in shared memory.

#include "kernels/cuda/portable/lead_back.cuh"
#include "kernels/cuda/portable/query_terms.cuh"
#include "kernels/cuda/portable/row_tile.cuh"

namespace quest::kernels::cuda::portable {

enum class Owns { queries, keys_and_values, keys, values, keys_for_all };

struct GradientParameters {
  AttentionProblem problem;  // prepared
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix grad_out;
  const QueryTerms* query_terms;  // [B, H, Nq]
  Matrix grad_q;
  Matrix grad_k;
  Matrix grad_v;
  const float* key_reciprocals;
  const float* query_factors;  // [B, H, Nq], or null
  const float* key_factors;    // [B, Hk, Nk], or null
  QueryChain query_chain;
  const float* to_fixed;  // [B, H, Nq]
  int32_t* query_sums;    // [B, H, tiles][kSumRows · width]
};

template <typename T, int kWidth, Owns kOwns>
struct GradientShape {
  static constexpr bool kKeySide = kOwns != Owns::queries;
  static constexpr bool kAddsQueries = kOwns == Owns::keys_for_all;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes <= 512 ? 4 : 2;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowTiles = kAddsQueries && kWidth <= 64 ? 2 : 1;  // of a warp
  static constexpr int kOwned = kWarps * kRowTiles * 16;
  static constexpr int kStreamed = kRowBytes > 256 ? 16 : sizeof(T) == 2 ? 64 : 32;
  // Tiles of streamed rows in shared memory, which may be no more than 99 KiB: of q or k, and of dO or v.
  static constexpr int kStages = kRowBytes <= 512 ? 2 : 1;
  static constexpr int kSecondStages = kWidth <= 64 ? 2 : 1;
  static constexpr int kParts = kRowTiles;  // in which a tile of streamed rows is taken, for want of registers
  static constexpr int kPartRows = kStreamed / kParts;
  static constexpr bool kHeld = sizeof(T) == 2 && kWidth * kRowTiles <= 64 && kKeySide;
  static constexpr int kBlocksPerProcessor = sizeof(T) == 2 && (kWidth <= 16 || (kWidth <= 64 && !kKeySide)) ? 3 : 2;
  using OwnedTile = RowTile<T, kWidth, kOwned>;
  using StreamedTile = RowTile<T, kWidth, kStreamed>;
  using StreamedPart = RowTile<T, kWidth, kPartRows>;
};

template <int kCount>
struct QuerySide {
  alignas(16) QueryTerms terms[kCount];
  uint2 dropout[kCount];
  float to_fixed[kCount];
};

template <typename T, int kWidth, Owns kOwns>
struct GradientTiles {
  using Shape = GradientShape<T, kWidth, kOwns>;
  static constexpr bool kKeySide = Shape::kKeySide;
  alignas(16) uint8_t owned[2][Shape::OwnedTile::kBytes];
  alignas(16) uint8_t streamed_first[Shape::kStages][Shape::StreamedTile::kBytes];
  alignas(16) uint8_t streamed_second[Shape::kSecondStages][Shape::StreamedTile::kBytes];
  QuerySide<kKeySide ? Shape::kStreamed : Shape::kOwned> queries[kKeySide ? Shape::kStages : 1];
  float owned_factors[Shape::kOwned];
  alignas(8) float streamed_factors[Shape::kStages][Shape::kStreamed];
  uint8_t nonfinite[2][Shape::kStreamed];
  uint8_t owned_nonfinite[Shape::kOwned];
};

template <typename T, int kWidth, Owns kOwns>
struct GradientMemory : GradientTiles<T, kWidth, kOwns> {};

// And the gradients of the scores, [keys][queries].
template <typename T, int kWidth>
struct GradientMemory<T, kWidth, Owns::keys_for_all> : GradientTiles<T, kWidth, Owns::keys_for_all> {
  using Shape = GradientShape<T, kWidth, Owns::keys_for_all>;
  using ScoreTile = RowTile<T, Shape::kStreamed, Shape::kOwned>;
  alignas(16) uint8_t score_gradients[ScoreTile::kBytes];
};

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

}  // namespace quest::kernels::cuda::portable
