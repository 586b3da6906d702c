#pragma once

// The figures of one run of the spurious-attention experiment.

#include <string>
#include <vector>

#include "experiments/toy_read.h"
#include "report/figure.h"

namespace quest::report {

struct ToyFigures {
  Figure success;
  std::vector<Figure> accuracies;  // in training and in the test
  std::vector<Figure> norms;       // of keys, in failed and in successful trainings, and how they compare
};

// Every id starts with the prefix.
[[nodiscard]] ToyFigures toy_figures(const experiments::ToyRun& run, const std::string& prefix);

}  // namespace quest::report
