#include "metrics/accuracy.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>

#include <limits>

namespace quest::metrics {

void Accuracy::add(const at::Tensor& logits, const at::Tensor& labels) {
  if (logits.numel() == 0) return;
  const auto own = logits.gather(1, labels.unsqueeze(1));
  const auto before = at::arange(logits.size(1), labels.options()).unsqueeze(0).lt(labels.unsqueeze(1));
  const auto rank = (logits.gt(own) | (logits.eq(own) & before)).sum(1);
  const auto is_possible = own.squeeze(1).gt(-std::numeric_limits<double>::infinity());  // false for NaN
  const auto hits = rank.lt(top_) & is_possible & logits.isnan().any(1).logical_not();
  Mean::add(hits.sum().item<double>(), static_cast<double>(labels.size(0)));
}

}  // namespace quest::metrics
