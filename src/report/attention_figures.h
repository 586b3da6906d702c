#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/training_read.h"

namespace quest::report {

// Maps over layers, heads and steps of the largest logit, the norm of its key, the entropy and the sink score, all runs
// in the same colours; nothing where no run was watched.
[[nodiscard]] std::vector<Figure> attention_figures(std::span<const NamedRun> runs);

// The part of each name that tells it from the others: blocks.0.attn, blocks.1.attn -> 0, 1.
[[nodiscard]] std::vector<std::string> short_names(const std::vector<std::string>& dotted);

}  // namespace quest::report
