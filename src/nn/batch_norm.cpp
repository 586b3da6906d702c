#include "quest/nn/batch_norm.h"

#include <torch/torch.h>

#include "nn/fused_batch_norm.h"
#include "nn/gpu_batch_norm.h"

namespace quest::nn {
namespace {

constexpr std::int64_t kLeastRows = 2;  // for a variance

at::Tensor in_type(const at::Tensor& x, at::ScalarType type) { return x.defined() ? x.to(type).contiguous() : x; }

std::uint64_t draw_seed() {
  return static_cast<std::uint64_t>(at::empty({}, at::kLong).random_().item<std::int64_t>());
}

}  // namespace

BatchNormImpl::BatchNormImpl(const BatchNormOptions& given) : options(given) { reset(); }

void BatchNormImpl::reset() {
  TORCH_CHECK(options.dim() > 0, "quest::nn: BatchNorm needs at least one column, got ", options.dim());
  weight = register_parameter("weight", at::ones({options.dim()}));
  bias = register_parameter("bias", at::zeros({options.dim()}));
  running_mean = register_buffer("running_mean", at::zeros({options.dim()}));
  running_var = register_buffer("running_var", at::ones({options.dim()}));
}

at::Tensor BatchNormImpl::forward(const at::Tensor& x) { return run(x, {}, 0.0); }

at::Tensor BatchNormImpl::forward_branch(const at::Tensor& x, const at::Tensor& residual, double dropout) {
  TORCH_CHECK(residual.sizes() == x.sizes(), "quest::nn: the residual of a branch must have its shape, ", x.sizes(),
              ", got ", residual.sizes());
  return run(x, residual, is_training() ? dropout : 0.0);
}

at::Tensor BatchNormImpl::run(const at::Tensor& x, const at::Tensor& residual, double dropout) {
  TORCH_CHECK(x.dim() == 2 && x.size(1) == options.dim(), "quest::nn: this BatchNorm takes rows of shape [rows, ",
              options.dim(), "], got ", x.sizes());
  const bool of_batch = is_training();
  const bool updates = of_batch && x.size(0) >= kLeastRows;
  const auto type = weight.scalar_type();
  const at::Tensor rows = in_type(x, type);
  const at::Tensor base = in_type(residual, type);
  const at::Tensor no_statistics;
  if (has_gpu_batch_norm(rows)) {
    return gpu_batch_norm(rows, weight, bias, base,
                          {.of_batch = of_batch,
                           .running_mean = updates || !of_batch ? running_mean : no_statistics,
                           .running_var = updates || !of_batch ? running_var : no_statistics,
                           .eps = options.eps(),
                           .momentum = options.momentum(),
                           .dropout = dropout,
                           .dropout_seed = dropout > 0.0 ? draw_seed() : 0});
  }
  if (!x.is_cpu() || type != at::kFloat) {
    const at::Tensor y = x.size(0) == 0
                             ? rows * weight
                             : at::batch_norm(rows, weight, bias, updates || !of_batch ? running_mean : no_statistics,
                                              updates || !of_batch ? running_var : no_statistics, of_batch,
                                              options.momentum(), options.eps(), /*cudnn_enabled=*/true);
    return base.defined() ? base + at::dropout(y.relu(), dropout, dropout > 0.0) : y;
  }
  FusedNorm norm{.of_batch = of_batch, .eps = options.eps(), .dropout = dropout};
  norm.dropout_seed = dropout > 0.0 ? draw_seed() : 0;
  if (of_batch) {
    norm.moments = column_moments(rows.detach());
  } else {
    norm.moments = {.mean = running_mean.to(at::kDouble), .variance = running_var.to(at::kDouble)};
  }
  if (updates) {
    const at::NoGradGuard no_gradients;
    const auto count = static_cast<double>(x.size(0));
    running_mean.lerp_(norm.moments.mean.to(at::kFloat), options.momentum());
    running_var.lerp_((norm.moments.variance * (count / (count - 1.0))).to(at::kFloat), options.momentum());
  }
  return fused_batch_norm(rows, weight, bias, base, norm);
}

}  // namespace quest::nn
