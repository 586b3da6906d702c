#pragma once

// From logits and the gradients of weights to weights and the gradients of logits, in the registers of a GradientBlock.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/gradient_pass.cuh"
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

// What rounding took from their lse.
template <typename Block>
__device__ float lse_low_of(const Block& work, ScorePlace at, int block, int i) {
  if constexpr (Block::Shape::kStagesLow) {
    return work.query_side(at.step).lse_low[query_of(work, at, block, i)];
  } else if constexpr (Block::Shape::kBiased) {
    return work.low_of(query_of(work, at, block, i));
  } else {
    return 0.0f;
  }
}

// A large bias may round an exponent above 0, where a weight cannot be. NaN stays NaN.
__device__ inline float no_more_than_zero(float exponent) {
  float result;
  asm("min.NaN.f32 %0, %1, 0f00000000;" : "=f"(result) : "f"(exponent));
  return result;
}

// Of a weight, in units of log 2, from a score to which the rules were applied.
template <GradientPass kPass, typename Block>
__device__ float exponent_of(const Block& work, float score, float lse, float lse_low, float factor) {
  constexpr bool kAny = Block::Shape::kBiased && kPass == GradientPass::any;
  if (kPass == GradientPass::biased || (kAny && is_additive(work.rules.mask_type))) {
    return no_more_than_zero(score - lse - lse_low) * kLog2E;
  }
  return fmaf(score, work.rules.unit() * factor, -lse);
}

// Turns scores into weights.
template <GradientPass kPass, typename Block>
__device__ void weigh(const Block& work, Accumulator& weights, ScorePlace at, int block) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float factor = work.owned_factor(at.row_tile, i / 2);
    float& x = weights.x[i];
    const float lse = terms_of(work, at, block, i).lse;
    x = exp2_fast(exponent_of<kPass>(work, x, lse, lse_low_of(work, at, block, i), factor));
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
      const float low = lse_low_of(work, at, block, i);
      const float exponent = exponent_of<GradientPass::any>(work, weight, terms.lse, low, factor[i / 2]);
      weight = hidden ? 0.0f : exp2_fast(no_more_than_zero(exponent));
      grad = weight == 0 ? 0.0f : weight * (grad - terms.delta);
      // It would be multiplied by something that was cleared.
      const bool cleared = memory.nonfinite[0][streamed] || (Block::kAddsQueries && memory.nonfinite[1][streamed]);
      if (grad != 0 && cleared) grad = CUDART_NAN_F;
      if (Block::kKeySide && weight != 0 && memory.nonfinite[1][streamed]) weight = CUDART_NAN_F;
      if (Block::kAddsQueries) {
        weight *= factor[i / 2];
        grad *= factor[i / 2];
      }
    }
  }
}

// f(weight, grad, kept, delta) for all scores of a block whose first key is first_key.
template <typename Block, int kBlocks, typename F>
__device__ void visit_draws(const Block& work, Accumulator (&weights)[kBlocks], Accumulator (&grads)[kBlocks],
                            ScorePlace at, int first_key, F f) {
  static_assert(kBlocks % 2 == 0);
  const DropoutFactors factors(work.p.problem.dropout_p);
  // Number i of the scores that have the first key of a pair; the other key is in the next row or block.
  constexpr int kRowStep = Block::kKeySide ? 2 : 0;
  constexpr int kBlockStep = Block::kKeySide ? 0 : 1;
#pragma unroll
  for (int i = 0; i < kBlocks * 2; ++i) {
    const int block = Block::kKeySide ? i / 2 : i / 4 * 2;
    const int element = Block::kKeySide ? i % 2 : i % 4;
    const int key = Block::kKeySide ? lane_row() : block / 2 * 8 + lane_column() + element % 2;
    const uint32_t pair = draw_pair(work.dropout(at.step)[query_of(work, at, block, element)], first_key / 2 + key);
#pragma unroll
    for (int second = 0; second < 2; ++second) {
      const int b = block + second * kBlockStep;
      const int e = element + second * kRowStep;
      f(weights[b].x[e], grads[b].x[e], factors.keeps(pair, second != 0), terms_of(work, at, b, e).delta);
    }
  }
}

// All of it for weights of which some are dropped, which then become zero.
template <typename Block, int kBlocks>
__device__ void differentiate_and_drop(const Block& work, Accumulator (&weights)[kBlocks],
                                       Accumulator (&grads)[kBlocks], ScorePlace at, int first_key, bool care) {
  const float factor = DropoutFactors(work.p.problem.dropout_p).kept;
  if (care) {
    visit_draws(work, weights, grads, at, first_key,
                [&](float&, float& grad, bool kept, float) { grad = kept ? grad * factor : 0.0f; });
    differentiate_with_care(work, weights, grads, at);
    visit_draws(work, weights, grads, at, first_key, [&](float& weight, float&, bool kept, float) {
      if (!kept) weight = 0;
    });
    return;
  }
  visit_draws(work, weights, grads, at, first_key, [&](float& weight, float& grad, bool kept, float delta) {
    grad = weight * fmaf(kept ? grad : 0.0f, factor, -delta);
    if (Block::kKeySide) weight = kept ? weight : 0.0f;
  });
}

}  // namespace quest::kernels::cuda::portable
