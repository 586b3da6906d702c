#include "train/optim/clipping.h"

#include <torch/torch.h>

#include <cmath>
#include <numeric>

#include "train/optim/flat_updates.h"

namespace quest::train {
namespace {

// torch's guard against division by zero.
double clip_factor(double most, double norm) { return most > 0 ? std::min(1.0, most / (norm + 1e-6)) : 1.0; }

double length(const std::vector<double>& norms) {
  return std::sqrt(std::inner_product(norms.begin(), norms.end(), norms.begin(), 0.0));
}

}  // namespace

at::Tensor plain::clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each) {
  std::vector<at::Tensor> gradients;
  for (const Slice& slice : parameters.slices()) gradients.push_back(slice.of(parameters.gradients()));
  auto norms = at::stack(at::_foreach_norm(gradients, 2)).to(at::kDouble);
  const auto before = norms.norm();
  const auto is_finite = before.isfinite();
  const auto factor = [&](double most, const at::Tensor& norm) {
    return at::where(is_finite, (most / (norm + 1e-6)).clamp_max(1.0), 1.0);
  };
  if (clip_each > 0) {
    const auto each = factor(clip_each, norms);
    at::_foreach_mul_(gradients, at::unbind(each.to(at::kFloat)));
    norms = norms * each;
  }
  if (clip_norm > 0) parameters.gradients().mul_(factor(clip_norm, norms.norm()));
  return before;
}

at::Tensor clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each) {
  const torch::NoGradGuard no_grad;
  if (!parameters.gradients().is_cpu()) return plain::clip_gradients(parameters, clip_norm, clip_each);
  std::vector<double> norms = slice_norms(parameters.gradients(), parameters.slices());
  const double before = length(norms);
  if (!std::isfinite(before)) return at::scalar_tensor(before, at::kDouble);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const double factor = clip_factor(clip_each, norms[i]);
    if (factor == 1.0) continue;
    parameters.slices()[i].of(parameters.gradients()).mul_(factor);
    norms[i] *= factor;
  }
  const double factor = clip_factor(clip_norm, length(norms));
  if (factor != 1.0) parameters.gradients().mul_(factor);
  return at::scalar_tensor(before, at::kDouble);
}

}  // namespace quest::train
