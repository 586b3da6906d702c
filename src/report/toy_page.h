#pragma once

// The page of one or more runs of the spurious-attention experiment.

#include <span>
#include <vector>

#include "experiments/toy_read.h"
#include "report/figure.h"
#include "report/page.h"

namespace quest::report {

struct Report {
  Page page;
  std::vector<Figure> figures;  // those of the page, in its order
};

// Throws std::runtime_error when there is no run, or one without a finished training.
[[nodiscard]] Report toy_report(std::span<const experiments::ToyRun> runs);

}  // namespace quest::report
