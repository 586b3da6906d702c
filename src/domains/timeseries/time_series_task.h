#pragma once

// Classification of time series with the paper's small transformer: data sets of the UEA archive.

#include <cstdint>
#include <memory>

#include "domains/domain.h"

namespace quest::timeseries {

// Selection, and with it the result of a training, by what `data.protocol` says.
inline constexpr const char* kPaperProtocol = "paper";      // on the test split
inline constexpr const char* kHoldoutProtocol = "holdout";  // on training cases held back; the test split is reported

inline constexpr std::int64_t kEvaluationBatch = 64;  // cases at a time

[[nodiscard]] std::unique_ptr<domains::TaskFactory> time_series_task_factory();

}  // namespace quest::timeseries
