#pragma once

// The options that `quest toy` and `quest bench toy` share.

#include <CLI/App.hpp>
#include <string>

#include "domains/toy/toy.h"

namespace quest::cli {

struct ToyOptions {
  toy::ToySettings settings;
  std::string wiring = "pre-norm";
  int threads = 0;
};

// Sizes, wiring, seed, threads.
void add_toy_model_options(CLI::App& command, ToyOptions& options);

// What was asked for, checked. Throws UsageError.
[[nodiscard]] toy::ToySettings resolved_settings(const ToyOptions& options);

}  // namespace quest::cli
