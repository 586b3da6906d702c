#pragma once

// The metrics of one evaluation, by name, in the order in which they were first asked for: the same in every process.

#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "metrics/metric.h"

namespace quest::metrics {

using Values = std::map<std::string, double>;

class Metrics {
 public:
  struct Entry {
    std::string name;
    std::unique_ptr<Metric> metric;
  };

  // The metric of that name; made from the arguments where there is none yet.
  template <typename Kind, typename... Arguments>
  Kind& get(const std::string& name, Arguments&&... arguments) {
    for (auto& entry : entries_) {
      if (entry.name != name) continue;
      if (auto* metric = dynamic_cast<Kind*>(entry.metric.get())) return *metric;
      throw std::logic_error("the metric \"" + name + "\" is of another kind already; give one of them another name");
    }
    auto metric = std::make_unique<Kind>(std::forward<Arguments>(arguments)...);
    auto& result = *metric;
    entries_.push_back({name, std::move(metric)});
    return result;
  }

  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] Values values() const;

 private:
  std::vector<Entry> entries_;
};

}  // namespace quest::metrics
