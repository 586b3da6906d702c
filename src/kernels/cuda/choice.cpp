#include "kernels/cuda/choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>

#include "kernels/cuda/aligned.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kHopper = 90;

// Unit keys are kept times the scale, in the storage type.
bool scale_fits(const AttentionProblem& p) {
  const float largest = p.type == StorageType::float16 ? 0x1p6F : 0x1p60F;
  const float size = std::fabs(p.scale);
  return size >= 1 / largest && size <= largest;
}

// What keeps a problem from both Hopper families, first match first.
struct Obstacle {
  bool (*stands)(const AttentionProblem& problem);
  std::string_view reason;
};
constexpr Obstacle kObstacles[] = {
    {[](const AttentionProblem& p) { return p.type == StorageType::float32; },
     "rows are float32: the Hopper kernels multiply 16-bit types"},
    {[](const AttentionProblem& p) { return p.mask.type != MaskType::none; },
     "a mask was given: the tiled kernel has every option"},
    {[](const AttentionProblem& p) { return p.dropout_p > 0; },
     "dropout was asked for: the tiled kernel has every option"},
    {[](const AttentionProblem& p) { return p.key_lengths != nullptr; },
     "key lengths were given: the tiled kernel has every option"},
    {[](const AttentionProblem& p) { return p.cu_seqlens_q != nullptr; },
     "sequences are packed: the tiled kernel has every option"},
    {[](const AttentionProblem& p) { return !p.normalize_k || p.normalize_q || p.gain != nullptr; },
     "the formulation is not plain QUEST: the tiled kernel has every formulation"},
    {[](const AttentionProblem& p) { return !scale_fits(p); }, "the scale is extreme: the tiled kernel takes any"},
    {[](const AttentionProblem& p) { return p.value_dim != p.dim; },
     "values and keys differ in dimension: the tiled kernel takes any pair"},
    {[](const AttentionProblem& p) { return p.causal == Causal::lower_right && p.queries != p.keys; },
     "the causal limit is aligned to the last query: the tiled kernel takes either alignment"},
    {[](const AttentionProblem& p) { return p.batch * p.heads * p.queries * p.keys == 0; },
     "there is nothing to attend to: the tiled kernel takes empty tensors"},
    {[](const AttentionProblem& p) { return p.keys == 1; },
     "there is a single key: the tiled kernel gives it a weight of exactly one"},
    {[](const AttentionProblem& p) {
       return !std::ranges::all_of(std::array{p.q, p.k, p.v}, [&](const Input& tensor) { return aligned(tensor, p); });
     },
     "rows do not lie at multiples of 16 bytes: the tiled kernel takes any strides"},
};

}  // namespace

FamilyChoice choose_family(const AttentionProblem& problem, int compute_capability) {
  if (compute_capability != kHopper) {
    return {KernelFamily::portable,
            "the GPU is not Hopper (compute capability 9.0): the tiled kernel runs from 8.0 on"};
  }
  const auto* obstacle =
      std::ranges::find_if(kObstacles, [&](const Obstacle& candidate) { return candidate.stands(problem); });
  if (obstacle != std::end(kObstacles)) return {KernelFamily::portable, obstacle->reason};
  const KernelRow* row = find_row(problem);
  if (row == nullptr) {
    return {KernelFamily::portable, "no Hopper kernel for this head dimension, length and number of key heads"};
  }
  if (row->keeps_whole_heads()) {
    return {KernelFamily::whole_head, "plain QUEST on Hopper, and a whole head in shared memory is the fastest", row};
  }
  return {KernelFamily::long_sequence,
          "plain QUEST on Hopper, where tiles are faster than a whole head in shared memory", row};
}

std::string_view name(KernelFamily family) {
  switch (family) {
    case KernelFamily::whole_head:
      return "whole-head kernel (Hopper)";
    case KernelFamily::long_sequence:
      return "long-sequence kernel (Hopper)";
    case KernelFamily::portable:
      return "tiled kernel (any GPU from compute capability 8.0)";
  }
  return "";
}

}  // namespace quest::kernels::cuda
