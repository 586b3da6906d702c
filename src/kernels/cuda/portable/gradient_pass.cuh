#pragma once

// What a block of the backward is made for when it meets its tiles: compiled apart, since what a pass leaves out takes
// registers and room between instructions.

#include "kernels/cuda/portable/score_rules.cuh"

namespace quest::kernels::cuda::portable {

// All but the last: no factors of queries, nothing that is not finite, and of masks and dropout none; a boolean mask; a
// mask of T; dropout.
enum class GradientPass { plain, masked, biased, dropping, any };

// The one that is enough for a GradientBlock unless something turns out not to be finite.
template <typename Block>
__device__ GradientPass simplest_pass(const Block& block) {
  using Shape = typename Block::Shape;
  const auto& p = block.p;
  if (block.streamed_factors() != nullptr) return GradientPass::any;
  if (Shape::kBiased) {
    return stages_mask(block) && p.problem.dropout_p == 0 ? GradientPass::biased : GradientPass::any;
  }
  if (!block.rules.plain) return GradientPass::any;
  if (block.rules.mask_type == MaskType::boolean) return Shape::kDraws ? GradientPass::any : GradientPass::masked;
  return Shape::kDraws ? GradientPass::dropping : GradientPass::plain;
}

}  // namespace quest::kernels::cuda::portable
