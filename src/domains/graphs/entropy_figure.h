#pragma once

// How widely each layer looks at the end of training: the entropy of its attention, by formulation.

#include <span>
#include <vector>

#include "paper/runs.h"
#include "report/charts/figure.h"

namespace quest::graphs {

// A panel for each data set; nothing where no run was watched.
[[nodiscard]] std::vector<report::Figure> entropy_figures(std::span<const paper::Run> runs);

}  // namespace quest::graphs
