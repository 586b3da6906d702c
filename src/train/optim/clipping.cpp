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

// All slices, in what the share has of the buffers.
std::vector<Piece> own_pieces(const FlatParameters& parameters, const Share& share) {
  return share.pieces(parameters.slices(), {});
}

}  // namespace

at::Tensor plain::clip_gradients(FlatParameters& parameters, const Share& share, double clip_norm, double clip_each) {
  const at::Tensor gradients = share.of(parameters.gradients());
  const std::vector<Piece> pieces = own_pieces(parameters, share);
  auto norms = plain::slice_norms(gradients, pieces, share);
  const auto before = norms.norm();
  const auto is_finite = before.isfinite();
  const auto factor = [&](double most, const at::Tensor& norm) {
    return at::where(is_finite, (most / (norm + 1e-6)).clamp_max(1.0), 1.0);
  };
  if (clip_each > 0) {
    const auto each = factor(clip_each, norms);
    at::_foreach_mul_(parts(gradients, pieces), at::unbind(each.to(at::kFloat)));
    norms = norms * each;
  }
  if (clip_norm > 0) gradients.mul_(factor(clip_norm, norms.norm()));
  return before;
}

at::Tensor clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each) {
  return clip_gradients(parameters, Share(parameters), clip_norm, clip_each);
}

at::Tensor clip_gradients(FlatParameters& parameters, const Share& share, double clip_norm, double clip_each) {
  const torch::NoGradGuard no_grad;
  const at::Tensor gradients = share.of(parameters.gradients());
  if (!gradients.is_cpu()) return plain::clip_gradients(parameters, share, clip_norm, clip_each);
  const std::vector<Piece> pieces = own_pieces(parameters, share);
  std::vector<double> norms = slice_norms(gradients, pieces, share);
  const double before = length(norms);
  if (!std::isfinite(before)) return at::scalar_tensor(before, at::kDouble);
  for (std::size_t i = 0; i < norms.size(); ++i) {
    const double factor = clip_factor(clip_each, norms[i]);
    if (factor == 1.0) continue;
    gradients.narrow(0, pieces[i].begin, pieces[i].count).mul_(factor);
    norms[i] *= factor;
  }
  const double factor = clip_factor(clip_norm, length(norms));
  if (factor != 1.0) gradients.mul_(factor);
  return at::scalar_tensor(before, at::kDouble);
}

}  // namespace quest::train
