#include "attention/autograd.h"

#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/custom_class.h>

#include <array>
#include <optional>

#include "attention/choice.h"
#include "attention/reference.h"

namespace quest {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// The five tensors that may need a gradient, in the order of the differentiable function's arguments.
constexpr std::size_t kDifferentiable = 5;

std::array<at::Tensor*, kDifferentiable> differentiable(AttentionCall& call) {
  return {&call.q, &call.k, &call.v, &call.gain, &call.mask};
}

struct SavedSettings : torch::CustomClassHolder {
  explicit SavedSettings(const AttentionSettings& values) : settings(values) {}
  AttentionSettings settings;
};

constexpr const char* kSettings = "settings";

void save(AutogradContext* context, const AttentionCall& call, const operators::Forward& result) {
  context->save_for_backward({call.q, call.k, call.v, call.gain, call.mask, call.key_lengths, call.cu_seqlens_q,
                              call.cu_seqlens_k, result.out, result.lse});
  context->saved_data[kSettings] = c10::IValue::make_capsule(c10::make_intrusive<SavedSettings>(call.settings));
}

struct Saved {
  AttentionCall call;
  operators::Forward result;
};

Saved load(AutogradContext* context) {
  const variable_list saved = context->get_saved_variables();
  const auto settings = context->saved_data[kSettings].toCapsule();
  return {.call = {.q = saved[0],
                   .k = saved[1],
                   .v = saved[2],
                   .gain = saved[3],
                   .mask = saved[4],
                   .key_lengths = saved[5],
                   .cu_seqlens_q = saved[6],
                   .cu_seqlens_k = saved[7],
                   .settings = static_cast<const SavedSettings&>(*settings).settings},
          .result = {.out = saved[8], .lse = saved[9]}};
}

// The gradients as a graph of ordinary operations on the inputs, so that they can be differentiated again.
variable_list differentiable_gradients(AttentionCall call, const at::Tensor& grad_out) {
  variable_list inputs;
  for (at::Tensor* tensor : differentiable(call)) {
    if (tensor->defined() && tensor->requires_grad()) {
      // A view, because the same tensor may be passed as q, k and v and each wants its own gradient.
      *tensor = tensor->view_as(*tensor);
      inputs.push_back(*tensor);
    }
  }
  const at::Tensor out = reference_attention(call);
  const variable_list gradients = torch::autograd::grad({out}, inputs, {grad_out}, /*retain_graph=*/true,
                                                        /*create_graph=*/true, /*allow_unused=*/true);
  variable_list result;
  std::size_t next = 0;
  for (const at::Tensor* tensor : differentiable(call)) {
    const bool wanted = tensor->defined() && tensor->requires_grad();
    result.push_back(wanted ? gradients[next++] : at::Tensor());
  }
  return result;
}

variable_list fused_gradients(const Saved& saved, const at::Tensor& grad_out) {
  const auto wanted = [](const at::Tensor& tensor) { return tensor.defined() && tensor.requires_grad(); };
  const bool gain_grad = wanted(saved.call.gain);
  const bool mask_grad = wanted(saved.call.mask);
  const auto gradients = operators::backward(saved.call, grad_out, saved.result, gain_grad, mask_grad);
  return {gradients.q, gradients.k, gradients.v, gain_grad ? gradients.gain : at::Tensor(),
          mask_grad ? gradients.mask : at::Tensor()};
}

struct FusedAttention : torch::autograd::Function<FusedAttention> {
  // The tensors that may need a gradient stand for themselves so that autograd sees them; `call` holds them again.
  static variable_list forward(AutogradContext* context, const at::Tensor& /*q*/, const at::Tensor& /*k*/,
                               const at::Tensor& /*v*/, const std::optional<at::Tensor>& /*gain*/,
                               const std::optional<at::Tensor>& /*mask*/, const AttentionCall& call) {
    const operators::Forward result = operators::forward(call);
    save(context, call, result);
    context->mark_non_differentiable({result.lse});
    context->set_materialize_grads(false);
    return {result.out, result.lse};
  }

  static variable_list backward(AutogradContext* context, const variable_list& grad_outputs) {
    const at::Tensor& grad_out = grad_outputs[0];
    variable_list gradients(kDifferentiable);
    if (grad_out.defined()) {
      const Saved saved = load(context);
      gradients = at::GradMode::is_enabled() ? differentiable_gradients(saved.call, grad_out)
                                             : fused_gradients(saved, grad_out);
    }
    gradients.emplace_back();
    return gradients;
  }
};

AttentionCall in_float32(AttentionCall call) {
  for (at::Tensor* tensor : {&call.q, &call.k, &call.v, &call.mask}) {
    if (tensor->defined() && tensor->is_floating_point()) {
      *tensor = tensor->to(at::kFloat);
    }
  }
  return call;
}

bool needs_graph(AttentionCall call) {
  if (!at::GradMode::is_enabled()) {
    return false;
  }
  for (const at::Tensor* tensor : differentiable(call)) {
    if (tensor->defined() && tensor->requires_grad()) {
      return true;
    }
  }
  return false;
}

}  // namespace

operators::Forward fused_attention(const AttentionCall& call) {
  if (takes_float32(call)) {
    auto [out, lse] = fused_attention(in_float32(call));
    return {.out = out.to(call.q.scalar_type()), .lse = std::move(lse)};
  }
  if (!needs_graph(call)) {
    return operators::forward(call);
  }
  const auto optional = [](const at::Tensor& tensor) {
    return tensor.defined() ? std::optional<at::Tensor>(tensor) : std::nullopt;
  };
  variable_list result = FusedAttention::apply(call.q, call.k, call.v, optional(call.gain), optional(call.mask), call);
  return {.out = std::move(result[0]), .lse = std::move(result[1])};
}

}  // namespace quest
