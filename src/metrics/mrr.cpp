#include "metrics/mrr.h"

#include <ATen/TensorOperators.h>

#include <limits>
#include <sstream>
#include <stdexcept>

namespace quest::metrics {

at::Tensor reciprocal_ranks(const at::Tensor& right, const at::Tensor& others) {
  if (right.dim() != 1 || others.dim() != 2 || right.size(0) != others.size(0)) {
    std::ostringstream text;
    text << "expected scores [queries] and [queries, candidates], got " << right.sizes() << " and " << others.sizes();
    throw std::invalid_argument(text.str());
  }
  const auto own = right.unsqueeze(1);
  const auto best = others.gt(own).sum(1).to(at::kDouble);
  const auto worst = others.ge(own).sum(1).to(at::kDouble);
  const auto has_nan = right.isnan() | others.isnan().any(1);
  return ((best + worst) / 2.0 + 1.0).reciprocal().masked_fill(has_nan, std::numeric_limits<double>::quiet_NaN());
}

void Mrr::add(const at::Tensor& right, const at::Tensor& others) {
  Mean::add(reciprocal_ranks(right, others).sum().item<double>(), static_cast<double>(right.size(0)));
}

}  // namespace quest::metrics
