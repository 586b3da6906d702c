#include "attention/operators.h"

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>

#include <optional>

#include "attention/errors.h"

namespace quest::operators {
namespace {

using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

template <typename Signature>
c10::TypedOperatorHandle<Signature> find(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

OptionalTensor optional(const Tensor& tensor) { return tensor.defined() ? OptionalTensor(tensor) : std::nullopt; }

// Calls function(leading..., the arguments every attention operator shares, trailing...).
template <typename Operator, typename... Leading>
auto call_with_common(const Operator& operation, const AttentionCall& call, const Leading&... leading) {
  return [&](auto... trailing) {
    const AttentionSettings& s = call.settings;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    return with_torch_errors([&] {
      return operation.call(leading..., optional(call.gain), optional(call.mask), optional(call.key_lengths),
                            optional(call.cu_seqlens_q), optional(call.cu_seqlens_k), s.normalize_q, s.normalize_k,
                            s.scale, static_cast<std::int64_t>(s.causal), s.dropout_p,
                            static_cast<std::int64_t>(s.dropout_seed), trailing...);
    });
  };
}

using ForwardSignature = std::tuple<Tensor, Tensor>(const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&,
                                                    const OptionalTensor&, const OptionalTensor&, const OptionalTensor&,
                                                    const OptionalTensor&, bool, bool, double, std::int64_t, double,
                                                    std::int64_t);
using BackwardSignature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&,
    const OptionalTensor&, const OptionalTensor&, const OptionalTensor&, const OptionalTensor&, bool, bool, double,
    std::int64_t, double, std::int64_t, bool, bool);
using StatisticsSignature = std::tuple<Tensor, Tensor, Tensor, Tensor, Tensor>(
    const Tensor&, const Tensor&, const Tensor&, const OptionalTensor&, const OptionalTensor&, const OptionalTensor&,
    const OptionalTensor&, const OptionalTensor&, bool, bool, double, std::int64_t, double, std::int64_t);
using DropoutSignature = Tensor(const Tensor&, std::int64_t, double, std::int64_t);

}  // namespace

bool serve(at::Device device) {
  static const auto operation = find<ForwardSignature>("quest::attention_forward");
  return (device.is_cpu() || device.is_cuda()) &&
         operation.hasKernelForDispatchKey(device.is_cuda() ? c10::DispatchKey::CUDA : c10::DispatchKey::CPU);
}

Forward forward(const AttentionCall& call) {
  static const auto operation = find<ForwardSignature>("quest::attention_forward");
  auto [out, lse] = call_with_common(operation, call, call.q, call.k, call.v)();
  return {.out = std::move(out), .lse = std::move(lse)};
}

Gradients backward(const AttentionCall& call, const Tensor& grad_out, const Forward& forward, bool gain_grad,
                   bool mask_grad) {
  static const auto operation = find<BackwardSignature>("quest::attention_backward");
  auto [q, k, v, gain, mask] = call_with_common(operation, call, grad_out, call.q, call.k, call.v, forward.out,
                                                forward.lse)(gain_grad, mask_grad);
  return {std::move(q), std::move(k), std::move(v), std::move(gain), std::move(mask)};
}

AttentionStats statistics(const AttentionCall& call, const Tensor& lse) {
  static const auto operation = find<StatisticsSignature>("quest::attention_statistics");
  auto [max_logit, entropy, q_norm, k_norm, key_mass] = call_with_common(operation, call, call.q, call.k, lse)();
  return {lse.dim() == 4 ? lse.select(0, 0) : lse,
          std::move(max_logit),
          std::move(entropy),
          std::move(q_norm),
          std::move(k_norm),
          std::move(key_mass)};
}

Tensor dropout_factors(at::IntArrayRef shape, double dropout_p, std::uint64_t seed, at::Device device) {
  static const auto operation = find<DropoutSignature>("quest::dropout_factors");
  // The operator reads only the sizes of this tensor.
  const Tensor rows =
      at::empty({shape[0], shape[1], shape[2], 0},
                at::TensorOptions().dtype(at::kFloat).device(serve(device) ? device : at::Device(at::kCPU)));
  return with_torch_errors([&] { return operation.call(rows, shape[3], dropout_p, static_cast<std::int64_t>(seed)); });
}

}  // namespace quest::operators
