#include "ops/rules/path.h"

#include <algorithm>
#include <array>

#include "kernels/cuda/choice.h"

namespace quest::ops {
namespace {

namespace cuda = kernels::cuda;

bool is_wide(const CallFacts& call) {
  return call.device == DeviceKind::cuda && std::max(call.dim, call.value_dim) > cuda::kLargestDim;
}

constexpr std::int64_t smallest_dim_without_float32() {
  std::int64_t dim = 1;
  while (cuda::takes_float32(dim, dim, /*masked=*/true)) ++dim;
  return dim;
}

}  // namespace

std::span<const Obstacle> obstacles() {
  static const std::array all = {
      Obstacle{"transform",
               "a functorch transform (vmap, grad, jvp) is active and the fused kernels have no rule for it",
               [](const CallFacts& call) { return call.transform_is_active; }},
      Obstacle{"device", "there are fused kernels for the CPU and for CUDA only",
               [](const CallFacts& call) { return call.device == DeviceKind::other; }},
      Obstacle{"cuda_operators", "the CUDA operators, libquest_ops_cuda, are not loaded",
               [](const CallFacts& call) { return call.device == DeviceKind::cuda && !call.has_cuda_operators; }},
      Obstacle{"float64", "float64 is computed by the plain formula",
               [](const CallFacts& call) { return call.type == ElementType::float64; }},
      Obstacle{"wide_heads", "the fused CUDA kernels take head dimensions up to " + std::to_string(cuda::kLargestDim),
               is_wide},
      Obstacle{"forward_gradient", "an input carries a forward-mode gradient, which the fused kernels do not compute",
               [](const CallFacts& call) { return call.has_forward_gradient; }},
  };
  return all;
}

const Obstacle* first_obstacle(const CallFacts& call) {
  const auto all = obstacles();
  const auto found = std::ranges::find_if(all, [&](const Obstacle& one) { return one.stands_before(call); });
  return found == all.end() ? nullptr : &*found;
}

bool takes_float32(const CallFacts& call) {
  const bool is_narrow = call.type == ElementType::bfloat16 || call.type == ElementType::float16;
  const bool hides_a_triangle = call.is_causal_to_last && !call.is_packed && call.queries != call.keys;
  const bool is_masked = call.has_mask || call.has_key_lengths || hides_a_triangle;
  return call.device == DeviceKind::cuda && is_narrow && cuda::takes_float32(call.dim, call.value_dim, is_masked);
}

std::int64_t dims_per_word() { return smallest_dim_without_float32(); }

}  // namespace quest::ops
