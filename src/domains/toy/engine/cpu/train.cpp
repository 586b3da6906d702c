#include "domains/toy/engine/cpu/train.h"

#include <algorithm>

#include "domains/toy/engine/cpu/lane_models.h"

namespace quest::toy::engine::cpu {
namespace {

using engine::EpochRecord;
using engine::SweepJob;
using engine::SweepRecipe;
using engine::SweepResult;

SampleTotals train_epoch(LaneModels& models, const engine::TaskData& data, std::span<const int> order, int batch) {
  SampleTotals epoch{std::vector<float>(models.lanes), std::vector<float>(models.lanes)};
  for (std::size_t first = 0; first < order.size(); first += batch) {
    const auto samples = order.subspan(first, std::min<std::size_t>(batch, order.size() - first));
    const SampleTotals totals = batch_gradient(models, data, samples);
    adamw_step(models);
    for (int lane = 0; lane < models.lanes; ++lane) {
      epoch.loss[lane] += totals.loss[lane];
      epoch.correct[lane] += totals.correct[lane];
    }
  }
  return epoch;
}

EpochRecord record_of(int lane, const SampleTotals& training, int training_samples, const SampleTotals& test,
                      int test_samples, const Probe& probe) {
  return {.loss = training.loss[lane] / static_cast<float>(training_samples),
          .train_accuracy = training.correct[lane] / static_cast<float>(training_samples),
          .test_accuracy = test.correct[lane] / static_cast<float>(test_samples),
          .biased_key_norm = probe.biased_key_norm[lane],
          .unbiased_key_norm = probe.unbiased_key_norm[lane],
          .other_key_norm = probe.other_key_norm[lane],
          .query_norm = probe.query_norm[lane],
          .entropy = probe.entropy[lane]};
}

}  // namespace

std::optional<std::vector<SweepResult>> train_together(const SweepRecipe& recipe, const engine::Realization& data,
                                                       std::span<const SweepJob> jobs,
                                                       const std::function<bool()>& should_stop) {
  LaneModels models(recipe.model, model_lanes());
  for (std::size_t lane = 0; lane < jobs.size(); ++lane) {
    const SweepJob& job = jobs[lane];
    models.set_lane(static_cast<int>(lane),
                    engine::initial_parameters(recipe.model.tokens, recipe.seed, job.initialization),
                    static_cast<float>(job.learning_rate), static_cast<float>(job.weight_decay));
  }

  std::vector<SweepResult> results(jobs.size());
  for (int epoch = 0; epoch < recipe.epochs; ++epoch) {
    const auto order = engine::batch_order(data.training.samples, recipe.seed, recipe.realization, epoch);
    const SampleTotals training = train_epoch(models, data.training, order, recipe.batch);
    const SampleTotals test = evaluate(models, data.test);
    const Probe seen = probe(models, data.training, engine::kProbeSamples);
    for (std::size_t lane = 0; lane < jobs.size(); ++lane) {
      results[lane].epochs.push_back(
          record_of(static_cast<int>(lane), training, data.training.samples, test, data.test.samples, seen));
    }
    if (should_stop()) return std::nullopt;
  }
  const SampleTotals final_training = evaluate(models, data.training);
  for (std::size_t lane = 0; lane < jobs.size(); ++lane) {
    results[lane].train_accuracy = final_training.correct[lane] / static_cast<float>(data.training.samples);
    results[lane].test_accuracy = results[lane].epochs.back().test_accuracy;
  }
  return results;
}

}  // namespace quest::toy::engine::cpu
