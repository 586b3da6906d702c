#pragma once

// A table of the paper, drawn: every run as a dot beside the paper's number.

#include <optional>

#include "paper/comparison.h"
#include "report/charts/figure.h"

namespace quest::report {

// One panel per row and value of the split, with a group per column; rows without runs are left out, and a table
// without runs has no figure.
[[nodiscard]] std::optional<Figure> comparison_figure(const paper::Comparison& comparison);

}  // namespace quest::report
