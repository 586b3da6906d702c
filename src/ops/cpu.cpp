// The operators on the CPU: kernels over torch's threads.

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>
#include <limits>

#include "kernels/cpu/attention.h"
#include "ops/operators.h"
#include "ops/parallel.h"

namespace quest::ops::cpu {
namespace {

namespace kernel = kernels::cpu;

// A backward pass recomputes the logits and forms four more products of the same size.
constexpr double kBackwardToForward = 2.5;

float* floats(const Tensor& tensor) { return static_cast<float*>(tensor.mutable_data_ptr()); }

const float* const_floats(const Tensor& tensor) { return static_cast<const float*>(tensor.const_data_ptr()); }

Tensor new_floats(std::int64_t count, const Tensor& like) {
  return new_tensor(std::array{count}, ScalarType::Float, like);
}

// [heads, dim] as the kernel writes it, summed to the gain's own shape.
void reduce_gain(const Tensor& per_head_and_dim, std::int64_t heads, std::int64_t dim, const Tensor& grad_gain) {
  const Sizes shape = sizes_of(grad_gain);
  const float* source = const_floats(per_head_and_dim);
  float* target = floats(grad_gain);
  fill_zero(grad_gain);
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t d = 0; d < dim; ++d) {
      target[(shape[0] == 1 ? 0 : h) * shape[1] + (shape[1] == 1 ? 0 : d)] += source[h * dim + d];
    }
  }
}

// [rows, keys] as the kernel writes it, summed over the keys that share one element of the mask.
Tensor sum_over_keys(const Tensor& per_key, std::int64_t rows, std::int64_t keys) {
  Tensor sums = new_floats(rows, per_key);
  const float* source = const_floats(per_key);
  float* target = floats(sums);
  for (std::int64_t row = 0; row < rows; ++row) {
    double sum = 0.0;
    for (std::int64_t key = 0; key < keys; ++key) {
      sum += source[row * keys + key];
    }
    target[row] = static_cast<float>(sum);
  }
  return sums;
}

Tensor mask_gradient(const PreparedProblem& prepared, const kernels::BackwardArguments& arguments, const Tensor& mask) {
  const auto& problem = prepared.problem();
  const auto shape = mask_shape(mask);
  const std::int64_t rows = shape[0] * shape[1] * shape[2];
  Tensor gradient = new_floats(rows * problem.keys, mask);
  const kernels::MaskGradient target{floats(gradient), shape[0], shape[1], shape[2]};
  run_tasks(kernel::mask_backward_tasks(problem, target), prepared.flops(),
            [&](auto begin, auto end) { kernel::mask_backward(problem, arguments, target, begin, end); });
  if (shape[3] != problem.keys) {
    gradient = sum_over_keys(gradient, rows, problem.keys);
  }
  const Sizes sizes = sizes_of(mask);
  gradient = torch::stable::view(gradient, {sizes.data(), sizes.size()});
  return torch::stable::to(gradient, mask.scalar_type());
}

void zero(const BackwardResult& result) {
  for (const Tensor* tensor : {&result.grad_q, &result.grad_k, &result.grad_v, &result.grad_gain, &result.grad_mask}) {
    fill_zero(*tensor);
  }
}

}  // namespace

ForwardResult forward(const Tensor& q, const Tensor& k, const Tensor& v, const CommonArguments& common) {
  const PreparedProblem prepared(q, k, &v, common);
  ForwardResult result = new_forward_result(q, k, v, common);
  if (prepared.is_empty()) {
    fill_zero(result.out);
    std::fill_n(floats(result.lse), result.lse.numel(), -std::numeric_limits<float>::infinity());
    return result;
  }
  const auto& problem = prepared.problem();
  const kernels::ForwardOutputs outputs{view_output(result.out), floats(result.lse)};
  run_tasks(kernel::forward_tasks(problem), prepared.flops(),
            [&](auto begin, auto end) { kernel::forward(problem, outputs, begin, end); });
  return result;
}

BackwardResult backward(const BackwardInputs& inputs, const CommonArguments& common) {
  BackwardResult result = new_backward_result(inputs, common);
  const PreparedProblem prepared(inputs.q, inputs.k, &inputs.v, common);
  if (prepared.is_empty()) {
    zero(result);
    return result;
  }
  const auto& problem = prepared.problem();
  const Tensor out = with_dense_rows(inputs.out);
  const Tensor grad_out = with_dense_rows(inputs.grad_out);
  const Tensor lse = inputs.lse.is_contiguous() ? inputs.lse : torch::stable::contiguous(inputs.lse);
  const Tensor workspace = new_floats(kernel::backward_workspace(problem, inputs.gain_grad), inputs.q);
  const Tensor gain_sums = inputs.gain_grad ? new_floats(problem.heads * problem.dim, inputs.q) : workspace;
  const kernels::BackwardArguments arguments{.out = view_input(out),
                                             .grad_out = view_input(grad_out),
                                             .lse = const_floats(lse),
                                             .grad_q = view_output(result.grad_q),
                                             .grad_k = view_output(result.grad_k),
                                             .grad_v = view_output(result.grad_v),
                                             .grad_gain = inputs.gain_grad ? floats(gain_sums) : nullptr,
                                             .workspace = floats(workspace)};
  const double flops = kBackwardToForward * prepared.flops();
  run_tasks(kernel::backward_tasks(problem), flops,
            [&](auto begin, auto end) { kernel::backward(problem, arguments, begin, end); });
  run_tasks(kernel::backward_reduce_tasks(problem, inputs.gain_grad), flops,
            [&](auto begin, auto end) { kernel::backward_reduce(problem, arguments, begin, end); });
  if (inputs.gain_grad) {
    reduce_gain(gain_sums, problem.heads, problem.dim, result.grad_gain);
  }
  if (inputs.mask_grad && common.mask) {
    result.grad_mask = mask_gradient(prepared, arguments, *common.mask);
  }
  return result;
}

StatisticsResult statistics(const Tensor& q, const Tensor& k, const Tensor& lse, const CommonArguments& common) {
  const PreparedProblem prepared(q, k, nullptr, common);
  StatisticsResult result = new_statistics_result(q, k, lse, common);
  const Tensor dense_lse = lse.is_contiguous() ? lse : torch::stable::contiguous(lse);
  const auto& problem = prepared.problem();
  const kernels::StatisticsOutputs outputs{.lse = const_floats(dense_lse),
                                           .max_logit = floats(result.max_logit),
                                           .entropy = floats(result.entropy),
                                           .q_norm = floats(result.q_norm),
                                           .k_norm = floats(result.k_norm),
                                           .key_mass = floats(result.key_mass)};
  run_tasks(kernel::statistics_tasks(problem), prepared.flops(),
            [&](auto begin, auto end) { kernel::statistics(problem, outputs, begin, end); });
  return result;
}

Tensor dropout_factors(const Tensor& q, std::int64_t keys, double dropout_p, std::int64_t seed) {
  Tensor factors = new_dropout_factors(q, keys, dropout_p, seed);
  const Sizes sizes = sizes_of(factors);
  const std::int64_t heads = sizes[1];
  const std::int64_t matrix = sizes[2] * keys;
  float* data = floats(factors);
  run_tasks(sizes[0] * heads, static_cast<double>(factors.numel()), [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      kernel::dropout_factors(static_cast<float>(dropout_p), static_cast<std::uint64_t>(seed), i / heads, i % heads,
                              sizes[2], keys, data + i * matrix);
    }
  });
  return factors;
}

}  // namespace quest::ops::cpu
