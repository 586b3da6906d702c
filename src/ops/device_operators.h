#pragma once

// The operators, written once for every device. A Device is made for one call from a tensor that lies on it, and runs
// the kernels there: see cpu.cpp.

#include <torch/csrc/stable/ops.h>

#include <array>
#include <limits>

#include "ops/boxing.h"
#include "ops/operators.h"

namespace quest::ops {

inline Tensor with_dense_elements(const Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : torch::stable::contiguous(tensor);
}

inline OptionalTensor new_workspace(std::int64_t count, const Tensor& like) {
  return count > 0 ? OptionalTensor(new_floats(count, like)) : std::nullopt;
}

inline float* floats(const OptionalTensor& tensor) { return tensor ? floats(*tensor) : nullptr; }

// The second part of a log-sum-exp, or null.
template <typename Float>
Float* low_part(Float* lse, const PreparedProblem& prepared, const Tensor& q) {
  const Sizes sizes = sizes_of(q);
  return is_additive(prepared.problem().mask.type) ? lse + sizes[0] * sizes[1] * sizes[2] : nullptr;
}

template <typename Device>
Tensor mask_gradient(const Device& device, const PreparedProblem& prepared, const kernels::BackwardArguments& arguments,
                     const Tensor& mask) {
  const auto shape = mask_shape(mask);
  const std::int64_t rows = shape[0] * shape[1] * shape[2];
  const std::int64_t keys = prepared.problem().keys;
  const Tensor per_key = new_tensor(std::array{rows, keys}, ScalarType::Float, mask);
  device.mask_backward(prepared, arguments, {floats(per_key), shape[0], shape[1], shape[2]});
  const Sizes sizes = sizes_of(mask);
  const Tensor gradient = torch::stable::view(device.sum_to(per_key, rows, shape[3]), {sizes.data(), sizes.size()});
  return torch::stable::to(gradient, mask.scalar_type());
}

template <typename Device>
ForwardResult forward(const Tensor& q, const Tensor& k, const Tensor& v, const CommonArguments& common) {
  const PreparedProblem prepared(q, k, &v, common);
  ForwardResult result = new_forward_result(q, k, v, common);
  if (prepared.is_empty()) {
    torch::stable::fill_(result.out, 0.0);
    torch::stable::fill_(result.lse, -std::numeric_limits<double>::infinity());
    return result;
  }
  const Device device(q);
  const OptionalTensor workspace = new_workspace(device.forward_workspace(prepared), q);
  float* lse = floats(result.lse);
  device.forward(prepared, {view_output(result.out), lse, low_part(lse, prepared, q), floats(workspace)});
  return result;
}

template <typename Device>
BackwardResult backward(const BackwardInputs& inputs, const CommonArguments& common) {
  BackwardResult result = new_backward_result(inputs, common);
  const PreparedProblem prepared(inputs.q, inputs.k, &inputs.v, common);
  if (prepared.is_empty()) {
    for (const Tensor* gradient :
         {&result.grad_q, &result.grad_k, &result.grad_v, &result.grad_gain, &result.grad_mask}) {
      torch::stable::fill_(*gradient, 0.0);
    }
    return result;
  }
  const Device device(inputs.q);
  const auto& problem = prepared.problem();
  const Tensor out = with_dense_rows(inputs.out);
  const Tensor grad_out = with_dense_rows(inputs.grad_out);
  const Tensor lse = with_dense_elements(inputs.lse);
  const OptionalTensor workspace = new_workspace(device.backward_workspace(prepared, inputs.gain_grad), inputs.q);
  OptionalTensor gain_sums;
  if (inputs.gain_grad) {
    gain_sums = new_tensor(std::array{problem.heads, problem.dim}, ScalarType::Float, inputs.q);
  }
  const kernels::BackwardArguments arguments{.out = view_input(out),
                                             .grad_out = view_input(grad_out),
                                             .lse = const_floats(lse),
                                             .lse_low = low_part(const_floats(lse), prepared, inputs.q),
                                             .grad_q = view_output(result.grad_q),
                                             .grad_k = view_output(result.grad_k),
                                             .grad_v = view_output(result.grad_v),
                                             .grad_gain = floats(gain_sums),
                                             .workspace = floats(workspace)};
  device.backward(prepared, arguments);
  if (gain_sums) {
    const Sizes shape = sizes_of(result.grad_gain);
    result.grad_gain = device.sum_to(*gain_sums, shape[0], shape[1]);
  }
  if (inputs.mask_grad && common.mask) {
    result.grad_mask = mask_gradient(device, prepared, arguments, *common.mask);
  }
  return result;
}

template <typename Device>
StatisticsResult statistics(const Tensor& q, const Tensor& k, const Tensor& lse, const CommonArguments& common) {
  const PreparedProblem prepared(q, k, nullptr, common);
  StatisticsResult result = new_statistics_result(q, k, lse, common);
  const Device device(q);
  const Tensor dense_lse = with_dense_elements(lse);
  const OptionalTensor workspace = new_workspace(device.statistics_workspace(prepared), q);
  device.statistics(prepared, {.lse = const_floats(dense_lse),
                               .lse_low = low_part(const_floats(dense_lse), prepared, q),
                               .max_logit = floats(result.max_logit),
                               .entropy = floats(result.entropy),
                               .q_norm = floats(result.q_norm),
                               .k_norm = floats(result.k_norm),
                               .key_mass = floats(result.key_mass),
                               .workspace = floats(workspace)});
  return result;
}

template <typename Device>
Tensor dropout_factors(const Tensor& q, std::int64_t keys, double dropout_p, std::int64_t seed) {
  Tensor factors = new_dropout_factors(q, keys, dropout_p, seed);
  if (factors.numel() > 0) {
    Device(q).dropout_factors(static_cast<float>(dropout_p), static_cast<std::uint64_t>(seed), sizes_of(factors),
                              floats(factors));
  }
  return factors;
}

template <typename Device>
void implement(torch::stable::detail::StableLibrary& library) {
  library.impl("attention_forward", boxed_forward<forward<Device>>);
  library.impl("attention_backward", boxed_backward<backward<Device>>);
  library.impl("attention_statistics", boxed_statistics<statistics<Device>>);
  library.impl("dropout_factors", boxed_dropout_factors<dropout_factors<Device>>);
}

}  // namespace quest::ops
