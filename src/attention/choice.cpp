#include "attention/choice.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "attention/operators.h"
#include "ops/rules/path.h"

namespace quest {
namespace {

bool has_forward_gradient(const at::Tensor& tensor) {
  constexpr std::uint64_t kLevel = 0;
  return tensor.defined() && tensor._fw_grad(kLevel).defined();
}

bool has_forward_gradient(const AttentionCall& call) {
  const auto inputs = {&call.q, &call.k, &call.v, &call.gain, &call.mask};
  return std::ranges::any_of(inputs, [](const at::Tensor* tensor) { return has_forward_gradient(*tensor); });
}

ops::DeviceKind device_kind(const at::Device& device) {
  if (device.is_cpu()) return ops::DeviceKind::cpu;
  if (device.is_cuda()) return ops::DeviceKind::cuda;
  return device.is_meta() ? ops::DeviceKind::meta : ops::DeviceKind::other;
}

ops::ElementType element_type(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return ops::ElementType::float64;
    case at::kBFloat16:
      return ops::ElementType::bfloat16;
    case at::kHalf:
      return ops::ElementType::float16;
    default:
      return ops::ElementType::float32;
  }
}

ops::CallFacts facts_of(const AttentionCall& call) {
  return {.device = device_kind(call.q.device()),
          .has_cuda_operators = operators::serve(at::kCUDA),
          .type = element_type(call.q.scalar_type()),
          .queries = call.q.size(2),
          .keys = call.k.size(2),
          .dim = call.q.size(3),
          .value_dim = call.v.size(3),
          .has_mask = call.mask.defined(),
          .has_key_lengths = call.key_lengths.defined(),
          .is_packed = call.cu_seqlens_q.defined(),
          .is_causal_to_last = call.settings.causal == Causal::lower_right,
          .transform_is_active = transform_is_active(),
          .has_forward_gradient = has_forward_gradient(call)};
}

std::string_view reason_to_fuse(const ops::CallFacts& facts) {
  if (ops::takes_float32(facts)) {
    return "the fused CUDA kernels serve it in float32, as PyTorch does for such head dimensions";
  }
  switch (facts.device) {
    case ops::DeviceKind::cuda:
      return "the fused CUDA kernels serve float32, bfloat16 and float16 of any length";
    case ops::DeviceKind::meta:
      return "the fused kernels' shapes serve tensors without data";
    default:
      return "the fused CPU kernel serves float32, bfloat16 and float16 of any shape";
  }
}

}  // namespace

bool transform_is_active() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

bool takes_float32(const AttentionCall& call) { return ops::takes_float32(facts_of(call)); }

PathChoice choose_path(const AttentionCall& call, AttentionPath requested) {
  if (requested == AttentionPath::reference) {
    return {AttentionPath::reference, "the reference was asked for"};
  }
  const ops::CallFacts facts = facts_of(call);
  const ops::Obstacle* obstacle = ops::first_obstacle(facts);
  if (obstacle == nullptr) {
    return {AttentionPath::fused, reason_to_fuse(facts)};
  }
  TORCH_CHECK(requested != AttentionPath::fused, "quest::attention: the fused path was asked for, but ", obstacle->text,
              "; use AttentionPath::automatic");
  return {AttentionPath::reference, obstacle->text};
}

PathChoice explain_path(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const AttentionOptions& options) {
  return choose_path(resolve(q, k, v, options), options.path);
}

}  // namespace quest
