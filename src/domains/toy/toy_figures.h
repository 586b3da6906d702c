#pragma once

// The figures of one run of the spurious-attention experiment.

#include <string>
#include <vector>

#include "domains/toy/toy_read.h"
#include "report/charts/figure.h"

namespace quest::toy {

struct ToyFigures {
  report::Figure success;
  std::vector<report::Figure> accuracies;  // in training and in the test
  std::vector<report::Figure> norms;       // of keys, in failed and in successful trainings, and how they compare
};

// Every id starts with the prefix.
[[nodiscard]] ToyFigures toy_figures(const ToyRun& run, const std::string& prefix);

}  // namespace quest::toy
