#pragma once

// The files paper/*.toml, compiled in.

#include <span>
#include <string_view>
#include <vector>

#include "paper/experiment.h"

namespace quest::paper {

struct EmbeddedExperiment {
  std::string_view name;  // of paper/NAME.toml
  std::string_view text;
};

// By name.
[[nodiscard]] std::span<const EmbeddedExperiment> embedded_experiments();

// Throws recipe::RecipeError as parse_experiment does, and for a label that two files have.
[[nodiscard]] std::vector<Experiment> parse_experiments(std::span<const EmbeddedExperiment> files);

}  // namespace quest::paper
