#pragma once

// What the warps of a backward block give each other through shared memory.

#include "kernels/cuda/portable/block_mask.cuh"
#include "kernels/cuda/portable/gradient_pass.cuh"
#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/products.cuh"

namespace quest::kernels::cuda::portable {

// Puts the weights or gradients of scores of a warp's row tile r where all warps can read them.
template <typename Block, typename Tile, typename T, int kColumns>
__device__ void share(const Block& block, Tile tile, const Weights<T, kColumns>& scores, int r, int part) {
#pragma unroll
  for (int step = 0; step < scores.kSteps; ++step) {
    store_operand(tile, block.first_row - block.first_owned + r * 16, part * scores.kSteps + step, scores.steps[step]);
  }
}

// sums += scores · tile for the rows and columns of a warp and the streamed rows of the other one of its pair
template <typename Block, int kSums, typename ScoreTile, typename Tile>
__device__ void sum_others(const Block& block, Accumulator (&sums)[Block::kRowTiles][kSums], ScoreTile scores,
                           Tile tile) {
  using T = typename Block::Stored;
  const int other = 1 - Block::warp_of_pair();
  Weights<T, Block::kPartRows> left[Block::kRowTiles];
#pragma unroll
  for (int r = 0; r < Block::kRowTiles; ++r) {
    left[r] = Weights<T, Block::kPartRows>(scores, block.first_row - block.first_owned + r * 16, other);
  }
  multiply_weights<T>(sums, left, Block::summed_columns(Block::part_of(tile, other)));
}

// What the scores of the other warp give to dV and dK, once both have shared weights and gradients of scores.
// `scaled` are this warp's gradients times the factors of the queries, if these have any.
template <GradientPass kPass, typename Block, typename T, int kColumns>
__device__ void sum_scores_of_others(Block& block, const Steps& s, Step now, Step next, bool active,
                                     const Weights<T, kColumns> (&scaled)[Block::kRowTiles]) {
  const auto& barriers = block.memory.barriers;
  const bool factors = kPass == GradientPass::any && block.streamed_factors() != nullptr;
  barriers.wait(Meeting::scores_shared, block.parity);
  if (active) sum_others(block, block.second_sums, block.weight_tile(), block.second_tile(now.index));
  barriers.arrive(Meeting::second_free);
  const auto gradients = factors ? block.weight_tile() : block.score_tile();
  if (factors) {
    barriers.wait(Meeting::second_free, block.parity);
#pragma unroll
    for (int r = 0; r < Block::kRowTiles; ++r) share(block, gradients, scaled[r], r, Block::warp_of_pair());
    __syncthreads();
  }
  if (active) sum_others(block, block.first_sums, gradients, block.first_tile(now.index));
  barriers.wait(Meeting::second_free, block.parity);
  if constexpr (Block::template kTakesMask<kPass>) {
    if (factors && stages_mask(block)) __syncthreads();
    stage_mask(block, s, next, Block::warp_of_pair());
  }
  if constexpr (Block::Shape::kStages == 1) {
    __syncthreads();
    block.template stage_first<kPass>(s, next);
  }
  block.template stage_second<kPass>(s, next);
}

}  // namespace quest::kernels::cuda::portable
