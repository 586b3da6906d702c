#include <array>

#include "eval/calibration.h"
#include "eval/evaluation.h"

namespace quest::eval {

std::span<const EvaluationEntry> evaluations() {
  static constexpr std::array kEvaluations = {
      EvaluationEntry{kCalibration, "How far a classifier's confidence is from its accuracy", make_calibration},
  };
  return kEvaluations;
}

}  // namespace quest::eval
