#pragma once

// What `quest toy` prints when it is done.

#include <span>
#include <string>

#include "terminal/terminal.h"
#include "domains/toy/toy.h"

namespace quest::cli {

[[nodiscard]] std::string toy_heat_maps(const toy::ToySettings& settings,
                                        std::span<const toy::ToySummary> summaries, const terminal::TerminalStyle& style);

// Outcomes per formulation, and the paper's success rate beside ours.
[[nodiscard]] std::string toy_outcome_table(std::span<const toy::ToySummary> summaries);

[[nodiscard]] std::string toy_json(const toy::ToySettings& settings,
                                   std::span<const toy::ToySummary> summaries);

}  // namespace quest::cli
