#pragma once

// The norms of keys while the trainings of the spurious-attention experiment went on.

#include <span>
#include <vector>

#include "domains/toy/findings.h"
#include "report/charts/figure.h"

namespace quest::toy {

// In failed trainings, in successful ones, and how the keys of biased and unbiased answers compare.
[[nodiscard]] std::vector<report::Figure> norm_figures(std::span<const Kind> kinds);

}  // namespace quest::toy
