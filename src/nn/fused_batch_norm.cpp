#include "nn/fused_batch_norm.h"

#include <torch/torch.h>

#include <algorithm>
#include <optional>

#include "nn/kernels/batch_norm.h"
#include "ops/parallel.h"

namespace quest::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// What an element costs in arithmetic that would take as long: it waits for memory.
constexpr double kFlopsPerElement = 10.0;

template <typename Run>
void for_each_block(const at::Tensor& x, const Run& run) {
  const std::int64_t rows = x.size(0);
  const std::int64_t blocks = (rows + kernels::kNormBlock - 1) / kernels::kNormBlock;
  ops::run_tasks(blocks, kFlopsPerElement * static_cast<double>(x.numel()), [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t b = first; b < last; ++b) {
      run(b, b * kernels::kNormBlock, std::min((b + 1) * kernels::kNormBlock, rows));
    }
  });
}

at::Tensor per_block(const at::Tensor& x) {
  return at::empty({(x.size(0) + kernels::kNormBlock - 1) / kernels::kNormBlock, x.size(1)},
                   x.options().requires_grad(false));
}

at::Tensor inverse_deviation(const FusedNorm& norm) { return (norm.moments.variance + norm.eps).rsqrt(); }

// y = (x - mean) · scale + bias
struct Affine {
  at::Tensor mean;
  at::Tensor scale;
  at::Tensor bias;
};

Affine affine_of(const at::Tensor& weight, const at::Tensor& bias, const FusedNorm& norm) {
  return {.mean = norm.moments.mean.to(at::kFloat),
          .scale = (weight.to(at::kDouble) * inverse_deviation(norm)).to(at::kFloat),
          .bias = bias.contiguous()};
}

kernels::NormProblem problem_of(const at::Tensor& x, const Affine& affine, const at::Tensor& residual,
                                const FusedNorm& norm) {
  return {.x = x.const_data_ptr<float>(),
          .mean = affine.mean.const_data_ptr<float>(),
          .scale = affine.scale.const_data_ptr<float>(),
          .bias = affine.bias.const_data_ptr<float>(),
          .dim = x.size(1),
          .residual = residual.defined() ? residual.const_data_ptr<float>() : nullptr,
          .dropout = static_cast<float>(norm.dropout),
          .dropout_seed = norm.dropout_seed};
}

// Column sums of g and of g (x - mean), in float64.
struct GradientSums {
  at::Tensor of_gradient;
  at::Tensor of_products;
};

GradientSums gradient_sums(const at::Tensor& x, const kernels::NormProblem& problem, const at::Tensor& grad) {
  const at::Tensor sums = per_block(x);
  const at::Tensor products = per_block(x);
  const std::int64_t dim = x.size(1);
  for_each_block(x, [&](std::int64_t block, std::int64_t first, std::int64_t last) {
    kernels::norm_gradient_sums(problem, grad.const_data_ptr<float>(), first, last,
                                sums.mutable_data_ptr<float>() + block * dim,
                                products.mutable_data_ptr<float>() + block * dim);
  });
  return {.of_gradient = sums.sum(0, /*keepdim=*/false, at::kDouble),
          .of_products = products.sum(0, /*keepdim=*/false, at::kDouble)};
}

struct FusedBatchNorm : torch::autograd::Function<FusedBatchNorm> {
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& weight,
                            const at::Tensor& bias, const std::optional<at::Tensor>& residual, const FusedNorm& norm) {
    const Affine affine = affine_of(weight, bias, norm);
    const kernels::NormProblem problem = problem_of(x, affine, residual.value_or(at::Tensor()), norm);
    const at::Tensor out = at::empty_like(x);
    for_each_block(x, [&](std::int64_t /*block*/, std::int64_t first, std::int64_t last) {
      kernels::normalize(problem, out.mutable_data_ptr<float>(), first, last);
    });
    context->save_for_backward({x, weight, bias, norm.moments.mean, norm.moments.variance});
    context->saved_data["has_residual"] = residual.has_value();
    context->saved_data["of_batch"] = norm.of_batch;
    context->saved_data["eps"] = norm.eps;
    context->saved_data["dropout"] = norm.dropout;
    context->saved_data["dropout_seed"] = static_cast<std::int64_t>(norm.dropout_seed);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    TORCH_CHECK(!at::GradMode::is_enabled(), "quest::nn: BatchNorm has no second derivatives in float32 on the CPU; ",
                "use float64 for them");
    const variable_list saved = context->get_saved_variables();
    auto& data = context->saved_data;
    const FusedNorm norm{.moments = {.mean = saved[3], .variance = saved[4]},
                         .of_batch = data["of_batch"].toBool(),
                         .eps = data["eps"].toDouble(),
                         .dropout = data["dropout"].toDouble(),
                         .dropout_seed = static_cast<std::uint64_t>(data["dropout_seed"].toInt())};
    const at::Tensor& x = saved[0];
    const at::Tensor grad = grads[0].contiguous();
    const Affine affine = affine_of(saved[1], saved[2], norm);
    const bool has_residual = data["has_residual"].toBool();
    // The residual's values are not needed again: only that there is one.
    const kernels::NormProblem problem = problem_of(x, affine, has_residual ? x : at::Tensor(), norm);
    const GradientSums sums = gradient_sums(x, problem, grad);
    const at::Tensor inverse = inverse_deviation(norm);
    const at::Tensor grad_x = at::empty_like(x);
    const at::Tensor share =
        norm.of_batch ? -affine.scale.to(at::kDouble) / static_cast<double>(std::max<std::int64_t>(x.size(0), 1))
                      : at::zeros_like(inverse);
    const at::Tensor slope = (share * inverse * inverse * sums.of_products).to(at::kFloat);
    const at::Tensor offset = (share * sums.of_gradient).to(at::kFloat);
    const kernels::NormGradients gradients{.grad = grad.const_data_ptr<float>(),
                                           .slope = slope.const_data_ptr<float>(),
                                           .offset = offset.const_data_ptr<float>(),
                                           .grad_x = grad_x.mutable_data_ptr<float>()};
    for_each_block(x, [&](std::int64_t /*block*/, std::int64_t first, std::int64_t last) {
      kernels::norm_gradients(problem, gradients, first, last);
    });
    return {grad_x, (sums.of_products * inverse).to(at::kFloat), sums.of_gradient.to(at::kFloat),
            has_residual ? grad : at::Tensor(), at::Tensor()};
  }
};

}  // namespace

// Blocks are merged in their order by the rule of Chan, Golub and LeVeque, in float64.
Moments column_moments(const at::Tensor& x) {
  const at::Tensor means = per_block(x);
  const at::Tensor squares = per_block(x);
  const std::int64_t dim = x.size(1);
  const float* data = x.const_data_ptr<float>();
  for_each_block(x, [&](std::int64_t block, std::int64_t first, std::int64_t last) {
    kernels::column_moments(data + first * dim, last - first, dim, means.mutable_data_ptr<float>() + block * dim,
                            squares.mutable_data_ptr<float>() + block * dim);
  });
  const auto wide = x.options().requires_grad(false).dtype(at::kDouble);
  const at::Tensor mean = at::zeros({dim}, wide);
  const at::Tensor variance = at::zeros({dim}, wide);
  auto* m = mean.mutable_data_ptr<double>();
  auto* s = variance.mutable_data_ptr<double>();
  double rows = 0.0;
  for (std::int64_t block = 0; block < means.size(0); ++block) {
    const auto count = static_cast<double>(std::min(kernels::kNormBlock, x.size(0) - block * kernels::kNormBlock));
    const float* block_mean = means.const_data_ptr<float>() + block * dim;
    const float* block_squares = squares.const_data_ptr<float>() + block * dim;
    for (std::int64_t i = 0; i < dim; ++i) {
      const double apart = block_mean[i] - m[i];
      m[i] += apart * count / (rows + count);
      s[i] += block_squares[i] + apart * apart * rows * count / (rows + count);
    }
    rows += count;
  }
  if (rows > 0) variance.div_(rows);
  return {.mean = mean, .variance = variance};
}

at::Tensor fused_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            const at::Tensor& residual, const FusedNorm& norm) {
  return FusedBatchNorm::apply(x, weight, bias, residual.defined() ? std::optional(residual) : std::nullopt, norm);
}

}  // namespace quest::nn
