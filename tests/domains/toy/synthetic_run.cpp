#include "tests/domains/toy/synthetic_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "domains/toy/toy_folder.h"

namespace quest::report {
namespace {

using toy::ToyResult;
using toy::ToyTraining;

toy::engine::EpochRecord record(int epoch, bool correct, float accuracy) {
  const auto time = static_cast<float>(epoch) + 1.0F;
  return {.loss = 2.3F / time,
          .train_accuracy = accuracy,
          .test_accuracy = accuracy,
          .biased_key_norm = correct ? 3.0F + 0.05F * time : 3.0F + 0.4F * time,
          .unbiased_key_norm = 3.0F + 0.1F * time,
          .other_key_norm = 2.8F + 0.1F * time,
          .query_norm = 4.0F,
          .entropy = 1.0F};
}

ToyResult made_up(const ToyTraining& training, int index, int epochs) {
  const int of_ten = training.formulation == "quest" ? 7 : 3;
  const int luck = (7 * index + 3 * training.realization) % 10;
  const bool correct = luck < of_ten;
  const float train = correct ? 0.97F : luck == 9 ? 0.11F : luck == 8 ? 0.85F : 0.62F;
  const float test = correct ? 0.95F : luck == 9 ? 0.1F : luck == 8 ? 0.6F : 0.31F;
  ToyResult result{training, {{}, train, test}};
  for (int epoch = 0; epoch < epochs; ++epoch) result.figures.epochs.push_back(record(epoch, correct, train));
  if (index == 4) result.figures.epochs.back().biased_key_norm = std::numeric_limits<float>::quiet_NaN();
  return result;
}

}  // namespace

toy::ToySettings synthetic_settings() {
  toy::ToySettings settings;
  settings.formulations = {"standard", "quest", "qnorm"};
  settings.learning_rates = {0.0005, 0.0025, 0.01};
  settings.weight_decays = {0.0, 0.1};
  settings.realizations = 2;
  settings.initializations = 4;
  settings.epochs = 12;
  return settings;
}

void write_synthetic_run(const std::filesystem::path& folder, std::size_t trainings, const std::string& program) {
  const auto settings = synthetic_settings();
  toy::ToyFolder run(folder, settings, program);
  std::vector<ToyResult> results;
  for (const ToyTraining& training : toy::trainings_of(settings)) {
    if (results.size() == trainings) break;
    results.push_back(made_up(training, static_cast<int>(results.size()), settings.epochs));
  }
  // Threads finish in any order, so nothing may depend on the order of the lines.
  std::ranges::reverse(results);
  run.add(results);
}

}  // namespace quest::report
