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

double clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each) {
  std::vector<double> norms = slice_norms(parameters.gradients(), parameters.slices());
  const double before = length(norms);
  if (!std::isfinite(before)) return before;
  const torch::NoGradGuard no_grad;
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const double factor = clip_factor(clip_each, norms[i]);
    if (factor == 1.0) continue;
    parameters.slices()[i].of(parameters.gradients()).mul_(factor);
    norms[i] *= factor;
  }
  const double factor = clip_factor(clip_norm, length(norms));
  if (factor != 1.0) parameters.gradients().mul_(factor);
  return before;
}

}  // namespace quest::train
