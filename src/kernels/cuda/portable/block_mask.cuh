#pragma once

// A mask on its way to the scores of a GradientBlock. A warp copies what it needs of a mask of T through shared memory,
// in squares of 16 by 16: no other warp waits for it.

#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/score_gradients.cuh"
#include "kernels/cuda/portable/tile_mma.cuh"

namespace quest::kernels::cuda::portable {

template <typename Block>
__device__ bool stages_mask(const Block& block) {
  return Block::Shape::kStagesMask && is_additive_16bit(block.rules.mask_type);
}

template <typename Block>
__device__ auto mask_tile(const Block& block) {
  if constexpr (Block::kPaired) {
    return block.weight_tile();
  } else {
    return typename Block::Shape::MaskTile{shared_address(block.memory.mask)};
  }
}

// Of a square of the tile, in squares.
struct SquarePlace {
  int row;
  int column;
};

// Of a row tile, and of the streamed rows from 16 · step on in a part. Pairs put all squares of a warp where its
// weights of the part will be.
template <typename Block>
__device__ SquarePlace mask_square(const Block& block, int row_tile, int part, int step) {
  if (Block::kPaired) {
    const int own = (block.first_row - block.first_owned) / 16;
    constexpr int kPartSquares = Block::kPartRows / 16;
    const int number = step * Block::kRowTiles + row_tile;
    return {own + number / kPartSquares, part * kPartSquares + number % kPartSquares};
  }
  const int of_warp = warp_id() * Block::kRowTiles + row_tile;
  return Block::kKeySide ? SquarePlace{step, of_warp} : SquarePlace{of_warp, step};
}

// Starts copying what a part of a step needs; what was needed before is needed no more.
template <typename Block>
__device__ void stage_mask(Block& block, const Steps& s, Step step, int part) {
  if (!stages_mask(block) || step.index >= s.count) return;
  constexpr int kWide = Block::kKeySide ? Block::kRowTiles : 1;  // squares side by side
  block.rules.select_head(block.p.problem, block.mask_bits(), block.sequence, step.head);
#pragma unroll
  for (int i = 0; i < Block::kPartRows / 16; ++i) {
    const SquarePlace to = mask_square(block, 0, part, i);
    const int streamed = step.row + part * Block::kPartRows + i * 16;
    copy_mask<16, 2 * kWide>(mask_tile(block), to.row * 16, to.column * 2, block.rules,
                             Block::kKeySide ? streamed : block.first_row,
                             Block::kKeySide ? block.first_row : streamed);
  }
  commit_copies();
}

// Copies for the first part of a step have arrived when the step begins.
template <typename Block>
__device__ void wait_for_mask(const Block& block, int turn) {
  if (!stages_mask(block)) return;
  if (turn > 0) wait_copies();
  __syncwarp();
}

template <typename Block>
__device__ auto staged_mask(const Block& block, ScorePlace at) {
  return [&block, at](int step) {
    using TileMma = TileMma<typename Block::Stored>;
    const SquarePlace from = mask_square(block, at.row_tile, at.part, step);
    if constexpr (Block::kKeySide) {
      return TileMma::load_left_transposed(mask_tile(block), from.row * 16, from.column);
    } else {
      return TileMma::load_left(mask_tile(block), from.row * 16, from.column);
    }
  };
}

template <typename Block>
__device__ RowScales row_scales(const Block& block, int row_tile) {
  const float scale = block.rules.scale;
  return {{scale * block.owned_factor(row_tile, 0), scale * block.owned_factor(row_tile, 1)}};
}

// Turns products of rows into scores, where the mask is one of T.
template <typename Block>
__device__ void add_mask(const Block& block, Accumulator (&scores)[Block::kBlocks], ScorePlace at, int first_query,
                         int first_key) {
  const RowScales scales = row_scales(block, at.row_tile);
  block.rules.template add_staged<typename Block::Stored>(scores, scales, staged_mask(block, at), false);
  block.rules.template hide<Block::kRows>(scores, first_query, first_key, -kInfinity);
}

template <typename Block>
using LoadedMask = Accumulator[Block::Shape::kLoadedBlocks];

// Of the warp's one row tile, before the products whose time it takes to arrive.
template <typename Block>
__device__ void load_mask(const Block& block, LoadedMask<Block>& biases, int streamed_row) {
  if constexpr (Block::Shape::kLoadsMask) {
    static_assert(Block::kRowTiles == 1 && Block::kParts == 1);
    if (!is_additive(block.rules.mask_type)) return;
    block.rules.template load_mask<Block::kRows>(biases, Block::kKeySide ? streamed_row : block.first_row,
                                                 Block::kKeySide ? block.first_row : streamed_row);
  }
}

// Turns products of rows into scores with any mask and none; one of float32 beside rows of float32 was loaded.
template <typename Block>
__device__ void apply_rules(const Block& block, Accumulator (&scores)[Block::kBlocks], ScorePlace at, int first_query,
                            int first_key, const LoadedMask<Block>& biases) {
  using T = typename Block::Stored;
  constexpr Along kRows = Block::kRows;
  const ScoreRules& rules = block.rules;
  if (!Block::Shape::kBiased || !is_additive(rules.mask_type)) {
    rules.template apply<kRows>(scores, first_query, first_key);
  } else if constexpr (Block::Shape::kStagesMask) {
    const RowScales scales = row_scales(block, at.row_tile);
    rules.template apply_additive<kRows, T>(scores, first_query, first_key, scales, staged_mask(block, at),
                                            block.guarded);
  } else if constexpr (Block::Shape::kLoadsMask) {
    const RowScales scales = row_scales(block, at.row_tile);
    rules.template apply_loaded<kRows>(scores, first_query, first_key, scales, biases, block.guarded);
  }
}

}  // namespace quest::kernels::cuda::portable
