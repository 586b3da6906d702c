#include "attention/choice.h"

#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/util/Exception.h>

#include <algorithm>

#include "attention/operators.h"
#include "kernels/cuda/choice.h"

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
  if (!operators::serve(call.q.device())) {
    return call.q.is_cuda() ? "the CUDA operators, libquest_ops_cuda, are not loaded"
                            : "there are fused kernels for the CPU and for CUDA only";
  }
  if (call.q.scalar_type() == at::kDouble) {
    return "float64 is computed by the plain formula";
  }
  if (call.q.is_cuda() && std::max(call.q.size(3), call.v.size(3)) > kernels::cuda::kLargestDim) {
    return "the fused CUDA kernels take head dimensions up to 256";
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

bool takes_float32(const AttentionCall& call) {
  const auto type = call.q.scalar_type();
  if (!call.q.is_cuda() || (type != at::kBFloat16 && type != at::kHalf)) {
    return false;
  }
  const bool aligned_to_last =
      call.settings.causal == Causal::lower_right && !call.cu_seqlens_q.defined() && call.q.size(2) != call.k.size(2);
  const bool masked = call.mask.defined() || call.key_lengths.defined() || aligned_to_last;
  return kernels::cuda::takes_float32(call.q.size(3), call.v.size(3), masked);
}

PathChoice choose_path(const AttentionCall& call, AttentionPath requested) {
  if (requested == AttentionPath::reference) {
    return {AttentionPath::reference, "the reference was asked for"};
  }
  const std::string_view obstacle = why_not_fused(call);
  if (obstacle.empty()) {
    return {AttentionPath::fused,
            takes_float32(call) ? "the fused CUDA kernels serve it in float32, as PyTorch does for such head dimensions"
            : call.q.is_cuda()  ? "the fused CUDA kernels serve float32, bfloat16 and float16 of any length"
                                : "the fused CPU kernel serves float32, bfloat16 and float16 of any shape"};
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
