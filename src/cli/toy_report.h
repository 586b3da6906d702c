#pragma once

// What `quest toy` prints when it is done.

#include <span>
#include <string>

#include "cli/terminal.h"
#include "experiments/toy.h"

namespace quest::cli {

[[nodiscard]] std::string toy_heat_maps(const experiments::ToySettings& settings,
                                        std::span<const experiments::ToySummary> summaries, const TerminalStyle& style);

// Outcomes per formulation, and the paper's success rate beside ours.
[[nodiscard]] std::string toy_outcome_table(std::span<const experiments::ToySummary> summaries);

[[nodiscard]] std::string toy_json(const experiments::ToySettings& settings,
                                   std::span<const experiments::ToySummary> summaries);

}  // namespace quest::cli
