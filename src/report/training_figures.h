#pragma once

// The figures of training runs: several runs share the panels of a figure, or stand side by side in it.

#include <span>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/training_read.h"

namespace quest::report {

// Loss, learning rate, gradient norm and throughput; then one panel per metric of the evaluations.
[[nodiscard]] std::vector<Figure> curve_figures(std::span<const NamedRun> runs);

// The last steps before the crash of a run, and its heads with the largest logits.
[[nodiscard]] Figure crash_figure(const NamedRun& run, const Crash& crash, const std::string& prefix);

}  // namespace quest::report
