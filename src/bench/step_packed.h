#pragma once

// Runs per second of a task that packs many into one program, beside a PyTorch loop in as many processes.

#include <memory>
#include <span>
#include <string>

#include "app/task_recipe.h"
#include "bench/step_report.h"

namespace quest::bench {

struct PackedPlan {
  std::string device = "cpu";
  int threads = 1;
  std::string python;
};

// Of runs of one packed task. Where there is no Python loop, or it fails, the rate says why.
[[nodiscard]] PackedRate measure_packed(std::span<const std::unique_ptr<app::TaskRecipe>> runs, const PackedPlan& plan);

}  // namespace quest::bench
