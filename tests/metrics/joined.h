#pragma once

// Metrics of several processes become one, as train::reduce joins them.

#include <ATen/ops/cat.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "metrics/metric.h"

namespace quest::testing {

inline void join(metrics::Metric& first, const metrics::Metric& second) {
  const bool are_rows = first.join() == metrics::Metric::Join::rows;
  first.set_state(are_rows ? at::cat({first.state(), second.state()}) : first.state() + second.state());
}

// The value of one metric that saw all samples; and of metrics that saw random parts of them, some none, joined. Of
// many such cuts that with the value farthest from it. `add(metric, first, last)` adds samples first to last - 1.
template <typename Make, typename Add>
std::pair<double, double> whole_and_joined(std::int64_t samples, const Make& make, const Add& add) {
  auto whole = make();
  add(*whole, 0, samples);
  std::mt19937_64 random(5);
  double farthest = whole->value();
  for (int round = 0; round < 20; ++round) {
    std::vector<std::int64_t> cuts = {0, 0, samples};  // a part without samples is among them
    for (int cut = 0; cut < round % 6; ++cut) cuts.push_back(static_cast<std::int64_t>(random() % (samples + 1)));
    std::ranges::sort(cuts);
    auto joined = make();
    for (std::size_t part = 0; part + 1 < cuts.size(); ++part) {
      auto one = make();
      if (cuts[part] < cuts[part + 1]) add(*one, cuts[part], cuts[part + 1]);
      join(*joined, *one);
    }
    const double value = joined->value();
    if (!(std::abs(value - whole->value()) <= std::abs(farthest - whole->value()))) farthest = value;
  }
  return {whole->value(), farthest};
}

}  // namespace quest::testing
