#pragma once

#include "metrics/mean.h"

namespace quest::metrics {

// [queries] from the scores of the right answers [queries] and those of the others [queries, candidates]. The rank is
// the mean of the best and the worst that equal scores allow. Candidates with the score -infinity come last, so they
// may stand for none; a NaN anywhere in a query gives NaN.
[[nodiscard]] at::Tensor reciprocal_ranks(const at::Tensor& right, const at::Tensor& others);

// The mean reciprocal rank of the right answers.
class Mrr final : public Mean {
 public:
  void add(const at::Tensor& right, const at::Tensor& others);
};

}  // namespace quest::metrics
