#pragma once

// How far a classifier's confidence is from its accuracy: negative log-likelihood, calibration errors over bins of the
// confidence, and the reliability diagram.

#include <memory>
#include <string_view>

#include "eval/evaluation.h"

namespace quest::eval {

inline constexpr std::string_view kCalibration = "calibration";

[[nodiscard]] std::unique_ptr<Evaluation> make_calibration();

}  // namespace quest::eval
