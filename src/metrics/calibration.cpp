#include "metrics/calibration.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

namespace quest::metrics {
namespace {

Calibration::Bin bin_of(const at::Tensor& sums) {
  const double samples = sums[0].item<double>();
  if (samples == 0.0) return {};
  return {samples, sums[1].item<double>() / samples, sums[2].item<double>() / samples};
}

double error_of(const Calibration::Bin& bin) { return std::abs(bin.accuracy - bin.confidence); }

}  // namespace

Calibration::Calibration(std::int64_t bins) {
  if (bins < 1) throw std::invalid_argument("expected at least one bin, got " + std::to_string(bins));
  sums_ = at::zeros({3, bins}, at::kDouble);
}

void Calibration::add(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.numel() == 0) return;
  const auto confidence = logits.to(at::kDouble).softmax(1).amax(1);
  const auto hits = logits.argmax(1).eq(labels).to(at::kDouble);
  const auto last = static_cast<double>(sums_.size(1) - 1);
  const auto bin = (confidence * (last + 1.0)).floor().clamp(0.0, last).nan_to_num(0.0).to(at::kLong);
  const auto each = at::stack({at::ones_like(hits), confidence, hits});
  sums_.index_add_(1, bin.cpu(), each.cpu());
}

std::vector<Calibration::Bin> Calibration::bins() const {
  std::vector<Bin> result;
  for (std::int64_t i = 0; i < sums_.size(1); ++i) result.push_back(bin_of(sums_.select(1, i)));
  return result;
}

Calibration::Bin Calibration::all() const { return bin_of(sums_.sum(1)); }

double Calibration::value() const {
  double error = 0.0;
  for (const auto& bin : bins()) error += bin.samples * error_of(bin);
  return error / all().samples;
}

double Calibration::largest_error() const {
  double largest = std::numeric_limits<double>::quiet_NaN();
  for (const auto& bin : bins()) {
    if (bin.samples == 0.0) continue;
    if (std::isnan(bin.confidence)) return bin.confidence;
    largest = std::fmax(largest, error_of(bin));
  }
  return largest;
}

}  // namespace quest::metrics
