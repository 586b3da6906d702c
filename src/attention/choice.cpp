#include "attention/choice.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

namespace quest {
namespace {

bool has_forward_gradient(const at::Tensor& tensor) {
  constexpr std::uint64_t kLevel = 0;
  return tensor.defined() && tensor._fw_grad(kLevel).defined();
}

// Empty when the fused kernel can serve the call.
std::string_view why_not_fused(const AttentionCall& call) {
  if (transform_is_active()) {
    return "a functorch transform (vmap, grad, jvp) is active and the fused kernel has no rule for it";
  }
  if (!call.q.is_cpu()) {
    return "there is a fused kernel for the CPU only";
  }
  if (call.q.scalar_type() == at::kDouble) {
    return "float64 is computed by the plain formula";
  }
  for (const at::Tensor* tensor : {&call.q, &call.k, &call.v, &call.gain, &call.mask}) {
    if (has_forward_gradient(*tensor)) {
      return "an input carries a forward-mode gradient, which the fused kernel does not compute";
    }
  }
  return {};
}

}  // namespace

bool transform_is_active() {
  return c10::impl::tls_is_dispatch_key_included(c10::DispatchKey::FuncTorchDynamicLayerFrontMode);
}

PathChoice choose_path(const AttentionCall& call, AttentionPath requested) {
  if (requested == AttentionPath::reference) {
    return {AttentionPath::reference, "the reference was asked for"};
  }
  const std::string_view obstacle = why_not_fused(call);
  if (obstacle.empty()) {
    return {AttentionPath::fused, "the fused CPU kernel serves float32, bfloat16 and float16 of any shape"};
  }
  TORCH_CHECK(requested != AttentionPath::fused, "quest::attention: the fused path was asked for, but ", obstacle,
              "; use AttentionPath::automatic");
  return {AttentionPath::reference, obstacle};
}

PathChoice explain_path(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                        const AttentionOptions& options) {
  return choose_path(resolve(q, k, v, options), options.path);
}

}  // namespace quest
