#include "domains/domain.h"

#include <string>

#include "data/sets/uea_locator.h"
#include "domains/timeseries/time_series_loop.h"
#include "domains/timeseries/time_series_task.h"
#include "quest/models/time_series.h"

namespace quest::timeseries {
namespace {

std::vector<std::pair<std::string, std::string>> loop_facts(train::Task& task) {
  const auto& options = dynamic_cast<models::TimeSeriesTransformerImpl&>(task.model()).options;
  return {{"length", std::to_string(options.length())},
          {"channels", std::to_string(options.channels())},
          {"classes", std::to_string(options.classes())}};
}

}  // namespace

domains::Domain domain() {
  return {.name = "timeseries",
          .tasks = {{.name = "timeseries",
                     .summary = "classify time series of the UEA archive with a transformer",
                     .factory = time_series_task_factory,
                     .python_loop = domains::PythonLoop{.program = kTimeSeriesLoop, .facts = loop_facts}}},
          .data_sets = data::uea_sets()};
}

}  // namespace quest::timeseries
