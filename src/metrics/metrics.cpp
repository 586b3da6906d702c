#include "metrics/metrics.h"

namespace quest::metrics {

Values Metrics::values() const {
  Values values;
  for (const auto& entry : entries_) values[entry.name] = entry.metric->value();
  return values;
}

}  // namespace quest::metrics
