#pragma once

// A recipe with some keys changed, and what it trains.

#include <torch/utils.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "data/weights/safetensors.h"
#include "domains/domain.h"
#include "recipe/recipe_files.h"
#include "tests/train/quiet_listener.h"
#include "train/engine/engine.h"

namespace quest::testing {

class TaskExperiment {
 public:
  TaskExperiment(std::unique_ptr<domains::TaskFactory> factory, const std::string& recipe,
                 const std::vector<std::string>& assignments)
      : factory_(std::move(factory)) {
    train::describe(fields_, recipe_);
    factory_->describe(fields_);
    auto settings = recipe::settings_of_recipe(recipe);
    for (const auto& assignment : assignments) settings.push_back(recipe::setting_of_assignment(assignment));
    fields_.apply(settings);
  }

  [[nodiscard]] const domains::TaskFactory& factory() const { return *factory_; }

  [[nodiscard]] std::unique_ptr<train::Task> task() const {
    torch::manual_seed(recipe_.seed);
    return factory_->make(recipe_, at::kCPU);
  }

  train::Ending train_in(const std::filesystem::path& path, std::int64_t steps = 1'000'000, int workers = 0) {
    train::RunFolder folder(path);
    const auto processes = train::communicator_from_environment(at::kCPU);
    std::int64_t taken = 0;
    const auto made = task();
    return train::train(*made, recipe_,
                        {.processes = *processes,
                         .listener = listener,
                         .folder = &folder,
                         .should_stop = [&] { return ++taken >= steps; },
                         .workers = workers});
  }

  QuietListener listener;

 private:
  train::Recipe recipe_;
  std::unique_ptr<domains::TaskFactory> factory_;
  recipe::Fields fields_;
};

// Of the last state of two runs; nothing where they agree to the bit.
[[nodiscard]] inline std::vector<std::string> differing_tensors(const std::filesystem::path& one,
                                                                const std::filesystem::path& other) {
  const auto a = data::load_safetensors(one / train::kResumeCheckpoint);
  const auto b = data::load_safetensors(other / train::kResumeCheckpoint);
  if (a.tensors.size() != b.tensors.size()) return {"the number of tensors"};
  std::vector<std::string> names;
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    if (!at::equal(a.tensors[i].second, b.tensors[i].second)) names.push_back(a.tensors[i].first);
  }
  return names;
}

}  // namespace quest::testing
