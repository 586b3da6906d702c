#include "quest/attention.h"

#include <c10/core/GradMode.h>

#include "attention/autograd.h"
#include "attention/choice.h"
#include "attention/operators.h"
#include "attention/reference.h"

namespace quest {
namespace {

AttentionCall detached(AttentionCall call) {
  call.q = call.q.detach();
  call.k = call.k.detach();
  call.gain = call.gain.defined() ? call.gain.detach() : call.gain;
  call.mask = call.mask.defined() ? call.mask.detach() : call.mask;
  return call;
}

}  // namespace

at::Tensor attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options) {
  const AttentionCall call = resolve(q, k, v, options);
  const bool fused = choose_path(call, options.path).path == AttentionPath::fused;
  return fused ? fused_attention(call).out : reference_attention(call);
}

AttentionResult attention_with_stats(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                     const AttentionOptions& options) {
  const AttentionCall call = resolve(q, k, v, options);
  if (choose_path(call, options.path).path == AttentionPath::reference) {
    return {.output = reference_attention(call), .stats = reference_statistics(detached(call))};
  }
  auto [out, lse] = fused_attention(call);
  return {.output = std::move(out), .stats = operators::statistics(detached(call), lse.detach())};
}

}  // namespace quest
