#include "domains/domain.h"

#include "domains/timeseries/time_series_task.h"

namespace quest::timeseries {

domains::Domain domain() {
  return {.name = "timeseries",
          .tasks = {{.name = "timeseries",
                     .summary = "classify time series of the UEA archive with a transformer",
                     .factory = time_series_task_factory}}};
}

}  // namespace quest::timeseries
