#include "metrics/mean_error.h"

#include <ATen/TensorOperators.h>

#include <sstream>
#include <stdexcept>

namespace quest::metrics {

void MeanError::add(const at::Tensor& predictions, const at::Tensor& targets) {
  if (predictions.sizes() != targets.sizes()) {
    std::ostringstream text;
    text << "expected as many predictions as targets, got " << predictions.sizes() << " and " << targets.sizes();
    throw std::invalid_argument(text.str());
  }
  const auto known = targets.isnan().logical_not();
  const auto errors = (predictions.to(at::kDouble) - targets.to(at::kDouble)).masked_select(known);
  const auto each = kind_ == Kind::absolute ? errors.abs() : errors.square();
  Mean::add(each.sum().item<double>(), static_cast<double>(each.numel()));
}

}  // namespace quest::metrics
