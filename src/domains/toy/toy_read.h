#pragma once

// What a run folder of the spurious-attention experiment holds, for whoever only looks: nothing is written.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "domains/toy/toy.h"

namespace quest::toy {

inline constexpr const char* kToySettingsFile = "settings.json";
inline constexpr const char* kToyResultsFile = "results.jsonl";
// Of the settings' file. Folders from before pre-norm had a final norm lack it.
inline constexpr const char* kToyFinalNorm = "final_norm";

struct ToyRun {
  std::filesystem::path path;
  std::string program;
  ToySettings settings;
  bool final_norm = false;         // not where pre-norm had none yet
  std::vector<ToyResult> results;  // in the order of trainings_of

  // With a word on models that are no longer trained so.
  [[nodiscard]] std::string wiring_text() const;
};

// Both throw std::runtime_error that names the file, its line, what was expected there and what to do.
[[nodiscard]] ToyRun read_toy_run(const std::filesystem::path& folder);
[[nodiscard]] std::vector<ToyResult> read_toy_results(const std::filesystem::path& folder, const ToySettings& settings);

// The run folders in a folder (or that folder itself, if it is one) with at least one finished training, newest first.
[[nodiscard]] std::vector<std::filesystem::path> toy_runs_in(const std::filesystem::path& folder);

[[nodiscard]] std::vector<ToyResult> in_order_of_trainings(const ToySettings& settings,
                                                           std::span<const ToyResult> results);

// Throws nlohmann's exceptions or std::invalid_argument.
[[nodiscard]] ToySettings settings_from_json(const nlohmann::json& settings);

}  // namespace quest::toy
