#include "nn/gpu_batch_norm.h"

#include <torch/torch.h>

#include <optional>

#include "nn/gpu_stream.h"
#include "nn/kernels/batch_norm_gpu.h"

namespace quest::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

float* data_of(const at::Tensor& x) { return x.defined() ? x.mutable_data_ptr<float>() : nullptr; }

at::Tensor workspace(const at::Tensor& x) {
  return at::empty({kernels::norm_workspace(x.size(0), x.size(1))}, x.options().dtype(at::kDouble));
}

// mean, inverse deviation and scale of the columns, [3, dim].
at::Tensor statistics(const at::Tensor& x, const at::Tensor& weight, const GpuNormOptions& options, void* stream) {
  if (!options.of_batch) {
    const at::Tensor inverse = (options.running_var.to(at::kDouble) + options.eps).rsqrt();
    return at::stack({options.running_mean, inverse.to(at::kFloat), (weight.to(at::kDouble) * inverse).to(at::kFloat)});
  }
  const at::Tensor columns = at::empty({3, x.size(1)}, x.options());
  kernels::gpu_norm()->statistics(x.const_data_ptr<float>(), x.size(0), x.size(1),
                                  workspace(x).mutable_data_ptr<double>(),
                                  {.weight = weight.const_data_ptr<float>(),
                                   .eps = options.eps,
                                   .momentum = options.momentum,
                                   .running_mean = data_of(options.running_mean),
                                   .running_variance = data_of(options.running_var),
                                   .mean = data_of(columns[0]),
                                   .inverse = data_of(columns[1]),
                                   .scale = data_of(columns[2])},
                                  stream);
  return columns;
}

kernels::NormProblem problem_of(const at::Tensor& x, const at::Tensor& columns, const at::Tensor& bias,
                                const float* residual, double dropout, std::uint64_t seed) {
  const auto* column_data = columns.const_data_ptr<float>();
  return {.x = x.const_data_ptr<float>(),
          .mean = column_data,
          .scale = column_data + 2 * x.size(1),
          .bias = bias.const_data_ptr<float>(),
          .dim = x.size(1),
          .residual = residual,
          .dropout = static_cast<float>(dropout),
          .dropout_seed = seed};
}

struct GpuBatchNorm : torch::autograd::Function<GpuBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& residual,
                            const GpuNormOptions& options) {
    const GpuStream stream(x);
    const at::Tensor columns = statistics(x, weight, options, stream);
    const at::Tensor out = at::empty_like(x);
    const auto problem = problem_of(x, columns, bias, residual ? residual->const_data_ptr<float>() : nullptr,
                                    options.dropout, options.dropout_seed);
    kernels::gpu_norm()->normalize(problem, out.mutable_data_ptr<float>(), x.size(0), stream);
    context->save_for_backward({x, columns, bias});
    context->saved_data["has_residual"] = residual.has_value();
    context->saved_data["of_batch"] = options.of_batch;
    context->saved_data["dropout"] = options.dropout;
    context->saved_data["dropout_seed"] = static_cast<std::int64_t>(options.dropout_seed);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "quest::nn: BatchNorm has no second derivatives in float32; use float64 ",
                "for them");
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const at::Tensor& x = saved[0];
    const at::Tensor& columns = saved[1];
    const at::Tensor grad = grads[0].contiguous();
    const bool has_residual = data["has_residual"].toBool();
    // The residual's values are not needed again: only that there is one.
    const auto problem =
        problem_of(x, columns, saved[2], has_residual ? x.const_data_ptr<float>() : nullptr, data["dropout"].toDouble(),
                   static_cast<std::uint64_t>(data["dropout_seed"].toInt()));
    const GpuStream stream(x);
    const at::Tensor sums = at::empty({4, x.size(1)}, x.options());
    auto* sum_data = sums.mutable_data_ptr<float>();
    const auto dim = x.size(1);
    const auto* gpu = kernels::gpu_norm();
    gpu->gradient_sums(problem, grad.const_data_ptr<float>(), x.size(0), workspace(x).mutable_data_ptr<double>(),
                       {.inverse = columns.const_data_ptr<float>() + dim,
                        .of_batch = data["of_batch"].toBool(),
                        .slope = sum_data,
                        .offset = sum_data + dim,
                        .grad_weight = sum_data + 2 * dim,
                        .grad_bias = sum_data + 3 * dim},
                       stream);
    const at::Tensor grad_x = at::empty_like(x);
    gpu->gradients(problem,
                   {.grad = grad.const_data_ptr<float>(),
                    .slope = sum_data,
                    .offset = sum_data + dim,
                    .grad_x = grad_x.mutable_data_ptr<float>()},
                   x.size(0), stream);
    return {grad_x, sums[2], sums[3], has_residual ? grad : at::Tensor(), at::Tensor()};
  }
};

}  // namespace

bool has_gpu_batch_norm(const at::Tensor& x) {
  return x.is_cuda() && x.scalar_type() == at::kFloat && x.size(0) > 0 && kernels::gpu_norm() != nullptr;
}

at::Tensor gpu_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                          const at::Tensor& residual, const GpuNormOptions& options) {
  return GpuBatchNorm::apply(x, weight, bias, residual.defined() ? std::optional(residual) : std::nullopt, options);
}

}  // namespace quest::nn
