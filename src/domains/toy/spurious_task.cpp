#include "domains/toy/spurious_task.h"

#include <stdexcept>
#include <utility>
#include <vector>

#include "domains/toy/engine/cuda/train.h"
#include "domains/toy/python_rate.h"
#include "domains/toy/spurious_result.h"
#include "domains/toy/sweep.h"

namespace quest::toy {
namespace {

const SpuriousSettings& settings_of(const domains::PackedRun& run) {
  const auto* own = dynamic_cast<const SpuriousRun*>(&run);
  if (own == nullptr) throw std::invalid_argument("task: expected runs of the task \"toy\", got one of another task");
  return own->settings();
}

void check(const domains::PackedSurroundings& around) {
  if (around.device != "auto" && around.device != "cpu" && around.device != "cuda") {
    throw std::invalid_argument("device: expected auto, cpu or cuda, got \"" + around.device + "\"");
  }
  if (around.threads < 1) {
    throw std::invalid_argument("threads: expected a number from 1, got " + std::to_string(around.threads));
  }
}

bool is_for_gpu(const SpuriousSettings& settings, const std::string& device) {
  if (device == "cpu") return false;
  const auto obstacle = engine::cuda::sweep_obstacle(settings.sizes.tokens);
  if (device == "cuda" && !obstacle.empty()) {
    throw std::runtime_error("device cuda: " + obstacle + "; or train on the device cpu");
  }
  return obstacle.empty();
}

SweepCallbacks callbacks_of(const domains::PackedSurroundings& around) {
  return {.on_finished =
              [&around](std::span<const NumberedResult> results) {
                std::vector<std::pair<std::size_t, train::PackedResult>> packed;
                for (const auto& [number, result] : results) packed.emplace_back(number, packed_result(result));
                around.on_finished(packed);
              },
          .on_progress = around.on_progress,
          .should_stop = around.should_stop};
}

}  // namespace

void SpuriousRun::describe(recipe::Fields& fields) {
  fields.text("task", task_, "what is trained");
  toy::describe(fields, settings_);
}

std::unique_ptr<domains::PackedRun> SpuriousTask::run() const { return std::make_unique<SpuriousRun>(); }

void SpuriousTask::train(std::span<const domains::PackedRun* const> runs,
                         const domains::PackedSurroundings& around) const {
  check(around);
  std::vector<NumberedTraining> on_gpu;
  std::vector<NumberedTraining> on_cpu;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const SpuriousSettings& settings = settings_of(*runs[i]);
    static_cast<void>(model_of(settings));
    (is_for_gpu(settings, around.device) ? on_gpu : on_cpu).push_back({i, settings});
  }
  const auto callbacks = callbacks_of(around);
  train_on_gpu(on_gpu, callbacks);
  train_on_cpu(on_cpu, around.threads, callbacks);
}

double SpuriousTask::python_rate(const domains::PackedRun& run, const std::string& python, int processes) const {
  return python_trainings_per_second(settings_of(run), python, processes);
}

std::unique_ptr<domains::PackedTask> spurious_task() { return std::make_unique<SpuriousTask>(); }

}  // namespace quest::toy
