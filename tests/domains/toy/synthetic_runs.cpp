#include "tests/domains/toy/synthetic_runs.h"

#include <limits>

#include "domains/toy/spurious_result.h"
#include "domains/toy/spurious_task.h"

namespace quest::toy {
namespace {

constexpr int kEpochs = 12;

engine::EpochRecord record(int epoch, bool correct, float accuracy) {
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

engine::SweepResult made_up(const SyntheticSettings& settings, int index) {
  const int of_ten = settings.formulation == "quest" ? 7 : 3;
  const int luck = (7 * index + (settings.realization == "0" ? 0 : 3)) % 10;
  const bool correct = luck < of_ten;
  const float train = correct ? 0.97F : luck == 9 ? 0.11F : luck == 8 ? 0.85F : 0.62F;
  const float test = correct ? 0.95F : luck == 9 ? 0.1F : luck == 8 ? 0.6F : 0.31F;
  engine::SweepResult result{{}, train, test};
  for (int epoch = 0; epoch < kEpochs; ++epoch) result.epochs.push_back(record(epoch, correct, train));
  if (index == 4) result.epochs.back().biased_key_norm = std::numeric_limits<float>::quiet_NaN();
  return result;
}

}  // namespace

paper::Run synthetic_run(const SyntheticSettings& settings, const engine::SweepResult& result) {
  const auto packed = packed_result(result);
  paper::Run run;
  run.folder = "runs/toy";
  run.recipe = "toy/spurious";
  run.task = kTaskName;
  run.settings = {{"task", kTaskName},
                  {"model.formulation", settings.formulation},
                  {"model.wiring", settings.wiring},
                  {"optimizer.lr", settings.learning_rate},
                  {"optimizer.weight_decay", settings.weight_decay},
                  {"data.realization", settings.realization}};
  run.status = packed.status;
  run.evaluations["best"] = packed.metrics;
  run.series = packed.series;
  return run;
}

std::vector<paper::Run> synthetic_runs() {
  std::vector<paper::Run> runs;
  for (const auto* formulation : {"standard", "quest", "qnorm"}) {
    for (const auto* rate : {"0.0005", "0.0025", "0.01"}) {
      for (const auto* decay : {"0.0", "0.1"}) {
        for (const auto* realization : {"0", "1"}) {
          for (int initialization = 0; initialization < 4; ++initialization) {
            const SyntheticSettings settings{formulation, "pre-norm", rate, decay, realization};
            runs.push_back(synthetic_run(settings, made_up(settings, static_cast<int>(runs.size()))));
          }
        }
      }
    }
  }
  return runs;
}

}  // namespace quest::toy
