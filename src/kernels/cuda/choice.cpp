#include "kernels/cuda/choice.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "kernels/cuda/short/serves.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kHopper = 90;

// The longest sequences for which the short-sequence kernels beat the long-sequence ones, forward and backward together
// so that both passes round alike: measured on an H200, or as far as shared memory holds a head.
struct ShortLimit {
  std::int64_t dim;
  std::int64_t plain;
  std::int64_t causal;
};
constexpr ShortLimit kShortLimits[] = {
    {16, 3216, 3216}, {32, 1536, 1696}, {64, 480, 640}, {80, 576, 704}, {96, 464, 576}, {128, 224, 288},
};

// Which problems the long-sequence kernels serve, where the short ones do not.
struct LongRange {
  std::int64_t least_keys;
  std::int64_t smallest_dim;
  std::int64_t largest_dim;
  std::int64_t dim_step;
};
constexpr LongRange kLongRange{.least_keys = 129, .smallest_dim = 16, .largest_dim = 128, .dim_step = 8};

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
    {[](const AttentionProblem& p) { return !short_sequence::scale_fits(p); },
     "the scale is extreme: the tiled kernel takes any"},
    {[](const AttentionProblem& p) { return p.value_dim != p.dim; },
     "values and keys differ in dimension: the tiled kernel takes any pair"},
    {[](const AttentionProblem& p) { return p.causal == Causal::lower_right && p.queries != p.keys; },
     "the causal limit is aligned to the last query: the tiled kernel takes either alignment"},
    {[](const AttentionProblem& p) { return p.batch * p.heads * p.queries * p.keys == 0; },
     "there is nothing to attend to: the tiled kernel takes empty tensors"},
    {[](const AttentionProblem& p) { return p.keys == 1; },
     "there is a single key: the tiled kernel gives it a weight of exactly one"},
    {[](const AttentionProblem& p) {
       return !std::ranges::all_of(std::array{p.q, p.k, p.v},
                                   [&](const Input& tensor) { return short_sequence::aligned(tensor, p); });
     },
     "rows do not lie at multiples of 16 bytes: the tiled kernel takes any strides"},
};

bool short_is_fastest(const AttentionProblem& p) {
  const auto* limit = std::ranges::find(kShortLimits, p.dim, &ShortLimit::dim);
  return limit != std::end(kShortLimits) && p.keys <= (p.causal == Causal::none ? limit->plain : limit->causal);
}

bool long_serves(const AttentionProblem& p) {
  return p.keys >= kLongRange.least_keys && p.dim >= kLongRange.smallest_dim && p.dim <= kLongRange.largest_dim &&
         p.dim % kLongRange.dim_step == 0;
}

}  // namespace

EngineChoice choose_engine(const AttentionProblem& problem, int compute_capability) {
  if (compute_capability != kHopper) {
    return {Engine::portable, "the GPU is not Hopper (compute capability 9.0): the tiled kernel runs from 8.0 on"};
  }
  const auto* obstacle =
      std::ranges::find_if(kObstacles, [&](const Obstacle& candidate) { return candidate.stands(problem); });
  if (obstacle != std::end(kObstacles)) return {Engine::portable, obstacle->reason};
  if (short_is_fastest(problem) && short_sequence::serves(problem)) {
    return {Engine::short_sequence, "plain QUEST on Hopper, and a whole head in shared memory is the fastest"};
  }
  if (long_serves(problem)) {
    return {Engine::long_sequence, "plain QUEST on Hopper, where tiles are faster than a whole head in shared memory"};
  }
  return {Engine::portable, "no Hopper kernel for this head dimension, length and number of key heads"};
}

std::string_view name(Engine engine) {
  switch (engine) {
    case Engine::short_sequence:
      return "short-sequence kernel (Hopper)";
    case Engine::long_sequence:
      return "long-sequence kernel (Hopper)";
    case Engine::portable:
      return "tiled kernel (any GPU from compute capability 8.0)";
  }
  return "";
}

}  // namespace quest::kernels::cuda
