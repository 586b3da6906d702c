#include "metrics/perplexity.h"

namespace quest::metrics {

void Perplexity::add(const at::Tensor& logits, const at::Tensor& targets) {
  auto rows = logits.reshape({-1, logits.size(-1)});
  auto tokens = targets.flatten();
  if (ignored_) {
    const auto kept = tokens.ne(*ignored_).nonzero().squeeze(1);
    rows = rows.index_select(0, kept);
    tokens = tokens.index_select(0, kept);
  }
  const auto precision = c10::promoteTypes(rows.scalar_type(), at::kFloat);
  const auto likelihoods = rows.log_softmax(1, precision).gather(1, tokens.unsqueeze(1));
  add(-likelihoods.sum(at::kDouble).item<double>(), static_cast<double>(tokens.size(0)));
}

}  // namespace quest::metrics
