#pragma once

// From logits and the gradients of weights to weights and the gradients of logits, in the registers of a GradientBlock.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/score_rules.cuh"

namespace quest::kernels::cuda::portable {

// Which scores of a warp: those of a row tile and of a part of the rows streamed in a step.
struct ScorePlace {
  int row_tile;
  int step;
  int part;
};

// Element i of a lane's accumulator number `block`: its place among the queries of query_side.
template <typename Block>
__device__ int query_of(const Block& work, ScorePlace at, int block, int i) {
  return work.first_query(at) + (Block::kKeySide ? block * 8 + lane_column() + i % 2 : lane_row() + i / 2 * 8);
}

template <typename Block>
__device__ QueryTerms terms_of(const Block& work, ScorePlace at, int block, int i) {
  return work.query_side(at.step).terms[query_of(work, at, block, i)];
}

// A large bias may round an exponent above 0, where a weight cannot be.
__device__ inline float no_more_than_zero(float exponent) { return exponent > 0 ? 0.0f : exponent; }

// Turns logits into weights.
template <typename Block>
__device__ void weigh(const Block& work, Accumulator& weights, ScorePlace at, int block) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float factor = work.owned_factor(at.row_tile, i / 2);
    float& x = weights.x[i];
    const float exponent = fmaf(x, work.rules.unit() * factor, -terms_of(work, at, block, i).lse);
    x = exp2_fast(Block::Shape::kHasExtras ? no_more_than_zero(exponent) : exponent);
    if (Block::kAddsQueries) x *= factor;
  }
}

// Turns the gradients of weights into those of logits.
template <typename Block, int kBlocks>
__device__ void differentiate(const Block& work, const Accumulator (&weights)[kBlocks], Accumulator (&grads)[kBlocks],
                              ScorePlace at) {
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& x = grads[block].x[i];
      x = weights[block].x[i] * (x - terms_of(work, at, block, i).delta);
    }
  }
}

// Both for rows of which some are not finite, with a weight and a gradient of exactly zero for what is hidden.
template <typename Block, int kBlocks>
__device__ void differentiate_with_care(const Block& work, Accumulator (&weights)[kBlocks],
                                        Accumulator (&grads)[kBlocks], ScorePlace at) {
  const auto& memory = work.memory;
  const float factor[2] = {work.owned_factor(at.row_tile, 0), work.owned_factor(at.row_tile, 1)};
  const float unit[2] = {work.rules.unit() * factor[0], work.rules.unit() * factor[1]};
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int owned = work.first_row - work.first_owned + at.row_tile * 16 + lane_row() + i / 2 * 8;
      const int streamed = at.part * Block::kPartRows + block * 8 + lane_column() + i % 2;
      const QueryTerms terms = terms_of(work, at, block, i);
      float& weight = weights[block].x[i];
      float& grad = grads[block].x[i];
      bool hidden = weight == -kInfinity || terms.lse == kInfinity;
      // Its score was minus infinity where the sum over the row is finite.
      if (Block::kAddsQueries && memory.owned_nonfinite[owned]) hidden |= !isnan(terms.lse);
      const float exponent = fmaf(weight, unit[i / 2], -terms.lse);
      weight = hidden ? 0.0f : exp2_fast(no_more_than_zero(exponent));
      if (Block::kFirst) {
        grad = weight == 0 ? 0.0f : weight * (grad - terms.delta);
        // It would be multiplied by something that was cleared.
        const bool cleared = memory.nonfinite[0][streamed] || (Block::kAddsQueries && memory.nonfinite[1][streamed]);
        if (grad != 0 && cleared) grad = CUDART_NAN_F;
      }
      if (Block::kSecond && weight != 0 && memory.nonfinite[1][streamed]) weight = CUDART_NAN_F;
      if (Block::kAddsQueries) {
        weight *= factor[i / 2];
        grad *= factor[i / 2];
      }
    }
  }
}

// Bit 4 · block + i tells whether dropout keeps element i of a block.
template <typename Block>
__device__ uint32_t draw_kept(const Block& work, ScorePlace at, int first_key) {
  static_assert(Block::kBlocks * 4 <= 32);
  const DropoutFactors factors(work.p.problem.dropout_p);
  uint32_t kept = 0;
#pragma unroll
  for (int block = 0; block < Block::kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int key = first_key + (Block::kKeySide ? lane_row() + i / 2 * 8 : block * 8 + lane_column() + i % 2);
      const uint2 draw = work.dropout(at.step)[query_of(work, at, block, i)];
      if (factors.keeps(draw.x, draw.y, key)) kept |= 1u << (block * 4 + i);
    }
  }
  return kept;
}

template <int kBlocks>
__device__ void drop(Accumulator (&numbers)[kBlocks], uint32_t kept, float factor) {
#pragma unroll
  for (int i = 0; i < kBlocks * 4; ++i) {
    float& x = numbers[i / 4].x[i % 4];
    x = kept >> i & 1 ? x * factor : 0.0f;
  }
}

}  // namespace quest::kernels::cuda::portable
