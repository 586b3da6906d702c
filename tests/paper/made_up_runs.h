#pragma once

// Runs and an experiment that no domain knows.

#include <map>
#include <string>
#include <vector>

#include "paper/experiment.h"
#include "paper/runs.h"

namespace quest::paper {

inline constexpr const char* kRecipe = "made-up/line";

using Settings = std::map<std::string, std::string>;
using RunList = std::vector<Run>;  // ::testing::Test has a Run of its own

inline Run run_of(Settings settings, std::map<std::string, double> best, const std::string& status = "finished") {
  Run run;
  run.folder = "runs/line/run";
  run.recipe = kRecipe;
  run.task = "line";
  run.settings = std::move(settings);
  run.status = status;
  if (!best.empty()) run.evaluations["best"] = std::move(best);
  return run;
}

// `item` is what stands below the label of its only table.
inline Experiment experiment_of(const std::string& item, const std::string& head = "", const std::string& axes = "") {
  return parse_experiment(
      "line",
      "title = \"A line\"\nsummary = \"How well it is found\"\n" + head +
          "\n[[sweep]]\nrecipe = \"made-up/line\"\n[sweep.axes]\nmodel.head = [\"mean\", \"first\"]\n" + axes +
          "\n[[item]]\nlabel = \"Table 1\"\nshows = \"Errors\"\nstate = \"full size\"\n" + item,
      "paper/line.toml");
}

}  // namespace quest::paper
