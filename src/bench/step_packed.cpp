#include "bench/step_packed.h"

#include <stdexcept>
#include <vector>

#include "base/clock.h"

namespace quest::bench {

PackedRate measure_packed(std::span<const std::unique_ptr<app::TaskRecipe>> runs, const PackedPlan& plan) {
  const auto task = runs.front()->entry().packed();
  std::vector<const domains::PackedRun*> packed;
  for (const auto& run : runs) packed.push_back(&run->packed_run());
  const double begin = base::steady_seconds();
  task->train(packed, {.device = plan.device,
                       .threads = plan.threads,
                       .on_finished = [](const auto&) {},
                       .on_progress = [](double) {},
                       .should_stop = [] { return false; }});
  PackedRate rate;
  rate.ours = static_cast<double>(runs.size()) / (base::steady_seconds() - begin);
  try {
    rate.python = task->python_rate(*packed.front(), plan.python, plan.threads);
  } catch (const std::runtime_error& error) {
    rate.python_problem = error.what();
  }
  return rate;
}

}  // namespace quest::bench
