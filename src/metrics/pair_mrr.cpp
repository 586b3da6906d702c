#include "metrics/pair_mrr.h"

#include <ATen/TensorOperators.h>

#include <limits>
#include <stdexcept>
#include <string>

#include "metrics/mrr.h"

namespace quest::metrics {

void PairMrr::add(const at::Tensor& nodes, const at::Tensor& offsets, const at::Tensor& source,
                  const at::Tensor& target, double weight) {
  double sum = 0.0;
  double graphs = 0.0;
  double seen = 0.0;
  const auto bounds = offsets.to(at::kLong).cpu();
  for (std::int64_t graph = 0; graph + 1 < bounds.size(0); ++graph) {
    const auto first = bounds[graph].item<std::int64_t>();
    const auto last = bounds[graph + 1].item<std::int64_t>();
    const auto own = (source.ge(first) & source.lt(last) & target.ge(first) & target.lt(last)).nonzero().squeeze(1);
    if (own.numel() == 0) continue;
    const auto vectors = nodes.narrow(0, first, last - first);
    const auto tail = (target.index_select(0, own) - first).unsqueeze(1);
    const auto scores = vectors.index_select(0, source.index_select(0, own) - first).matmul(vectors.t());
    const auto right = scores.gather(1, tail).squeeze(1);
    const auto others = scores.scatter(1, tail, -std::numeric_limits<double>::infinity());
    sum += reciprocal_ranks(right, others).mean().item<double>();
    graphs += 1.0;
    seen += static_cast<double>(own.numel());
  }
  if (seen != static_cast<double>(source.numel())) {
    throw std::invalid_argument("expected pairs of two nodes of one graph, got " +
                                std::to_string(source.numel() - static_cast<std::int64_t>(seen)) + " others");
  }
  if (graphs > 0.0) Mean::add(weight * sum / graphs, weight);
}

}  // namespace quest::metrics
