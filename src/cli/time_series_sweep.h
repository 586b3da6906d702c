#pragma once

// The trainings of the time-series experiment: which there are, and one program each for those that are missing.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace quest::cli {

struct TimeSeriesSweep {
  std::vector<std::string> data_sets;  // none: those of the paper that are at hand
  std::vector<std::string> formulations = {"standard", "qnorm", "qknorm_ds", "quest"};
  std::vector<std::string> protocols = {"paper", "holdout"};
  std::vector<std::string> heads = {"class_token"};
  std::uint64_t seeds = 10;
  std::vector<std::string> assignments;  // for all of them, as --set
  std::string device = "auto";
  int jobs = 0;  // 0: one a core, or one on a GPU
  std::filesystem::path folder;
};

// Trains what the folder lacks. Data sets that are not at hand, and trainings that fail, are told and left out; returns
// how many failed. Throws UsageError, or Interrupted, which says how to go on.
[[nodiscard]] std::size_t train_time_series(const TimeSeriesSweep& sweep);

}  // namespace quest::cli
