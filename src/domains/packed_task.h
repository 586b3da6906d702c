#pragma once

// A task whose runs are so small that one program trains many of them side by side; they share one run folder, whose
// runs.jsonl has a line for each.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "recipe/fields.h"
#include "train/run/packed_runs.h"

namespace quest::domains {

struct PackedSurroundings {
  std::string device;  // "auto", "cpu" or "cuda"
  int threads = 1;
  // All are called from one thread at a time. Finished runs come in any order, by their place among those asked for.
  std::function<void(std::span<const std::pair<std::size_t, train::PackedResult>>)> on_finished;
  std::function<void(double runs)> on_progress;  // how many more are done, in fractions of runs
  std::function<bool()> should_stop;
};

// The keys of one run, as a recipe has them.
class PackedRun {
 public:
  PackedRun() = default;
  virtual ~PackedRun() = default;
  PackedRun(const PackedRun&) = delete;
  PackedRun& operator=(const PackedRun&) = delete;

  virtual void describe(recipe::Fields& fields) = 0;
};

class PackedTask {
 public:
  PackedTask() = default;
  virtual ~PackedTask() = default;
  PackedTask(const PackedTask&) = delete;
  PackedTask& operator=(const PackedTask&) = delete;

  [[nodiscard]] virtual std::unique_ptr<PackedRun> run() const = 0;
  // Trains runs that run() made and a recipe has filled. Throws std::invalid_argument that names key, what was expected
  // and what was given; std::runtime_error where a device is asked for that cannot serve.
  virtual void train(std::span<const PackedRun* const> runs, const PackedSurroundings& around) const = 0;
  // So many runs alike keep the threads busy to their end: what a measurement of the rate trains.
  [[nodiscard]] virtual std::size_t runs_at_once(int threads) const {
    constexpr std::size_t kVectorLanes = 16;  // floats of the widest vector
    return 2 * kVectorLanes * static_cast<std::size_t>(threads);
  }
  // Runs per second of a plain PyTorch loop, for `quest bench step`; throws std::runtime_error that says why there is
  // none.
  [[nodiscard]] virtual double python_rate(const PackedRun& /*run*/, const std::string& /*python*/,
                                           int /*processes*/) const {
    throw std::runtime_error("this task has no Python loop to compare with");
  }
};

}  // namespace quest::domains
