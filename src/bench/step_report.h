#pragma once

// The results of `quest bench step` as tables and JSON.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table.h"

namespace quest::bench {

// Milliseconds of one training step, medians.
struct StepTimes {
  std::string formulation;
  double bare = 0.0;                               // forward, backward, clipping, update of the weights
  std::optional<double> update{};                  // clipping and the optimiser alone, of the bare step
  double load = 0.0;                               // reading a step's batches
  double unwatched = 0.0;                          // the engine, when the monitor looks at no step
  std::optional<double> watched{};                 // when it looks at every step; none: there is nothing to watch
  std::int64_t monitor_every = 0;                  // as the recipe says
  std::optional<double> unwatched_with_workers{};  // unwatched, with threads that load ahead
  std::optional<double> python{};
  std::string python_problem{};  // why there is no time of it
  double relative_spread = 0.0;  // the widest of all contestants'

  // What the monitor adds to a step on average.
  [[nodiscard]] double monitor() const;
  // The engine with the monitor as the recipe has it.
  [[nodiscard]] double engine() const { return unwatched + monitor(); }
  [[nodiscard]] std::optional<double> engine_with_workers() const;
  // What the engine takes beyond the bare step, of the bare step.
  [[nodiscard]] double overhead() const { return engine() / bare - 1.0; }
};

// `workers` of those that were measured; 0: none were.
[[nodiscard]] base::Table step_table(std::span<const StepTimes> rows, int workers);

// An array of objects with the keys formulation, engine_ms, bare_ms, load_ms, overhead, monitor_share (of the unwatched
// step) and relative_spread; where it was measured also optimiser_share (of the bare step), workers and
// engine_workers_ms; and python_ms or python_missing, which says why.
[[nodiscard]] std::string step_json(std::span<const StepTimes> rows, int workers);

// Runs per second of a packed task.
struct PackedRate {
  std::string formulation;
  double ours = 0.0;
  std::optional<double> python{};
  std::string python_problem{};
};

[[nodiscard]] base::Table packed_table(std::span<const PackedRate> rates, int threads);

// An array of objects with the keys formulation and ours_per_second, and python_per_second or python_missing.
[[nodiscard]] std::string packed_json(std::span<const PackedRate> rates);

}  // namespace quest::bench
