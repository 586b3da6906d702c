// Whole trainings of the sweep engine beside the same trainings in plain LibTorch: same weights to start from, same
// data, same order of batches. Rounding drives single trainings apart, so outcomes are compared as rates.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <iostream>
#include <map>
#include <thread>
#include <vector>

#include "domains/toy/toy.h"
#include "domains/toy/toy_run.h"
#include "domains/toy/engine/parameters.h"
#include "tests/domains/toy/toy_reference.h"

namespace quest::testing {
namespace {

namespace engine = toy::engine;
using toy::ToyResult;
using toy::ToySettings;
using toy::ToyTraining;

constexpr std::array kFormulations = {"standard", "quest", "qnorm", "qknorm_hs", "qknorm_ds"};

// Every point of the grid once per formulation; data sets and initialisations take turns.
std::vector<ToyTraining> one_training_per_grid_point(const ToySettings& settings) {
  std::vector<ToyTraining> trainings;
  int turn = 0;
  for (const auto* formulation : kFormulations) {
    for (std::size_t rate = 0; rate < settings.learning_rates.size(); ++rate) {
      for (std::size_t decay = 0; decay < settings.weight_decays.size(); ++decay, ++turn) {
        trainings.push_back({.formulation = formulation,
                             .learning_rate = settings.learning_rates[rate],
                             .weight_decay = settings.weight_decays[decay],
                             .realization = static_cast<int>(rate + decay) % settings.realizations,
                             .initialization = turn / 5 % settings.initializations});
      }
    }
  }
  std::ranges::stable_sort(trainings, {}, [](const ToyTraining& t) { return std::pair(t.formulation, t.realization); });
  return trainings;
}

toy::engine::Model model_of(const ToySettings& settings, const ToyTraining& training) {
  return toy::toy_model(formulation_from_name(training.formulation), settings.wiring, settings.sizes.tokens);
}

double accuracy_of(const ToyReference& reference, const ToyTensors& data) {
  const torch::NoGradGuard no_grad;
  return reference.logits(data.inputs).argmax(1).eq(data.labels).to(torch::kFloat64).mean().item<double>();
}

double mean_where(const at::Tensor& values, const at::Tensor& chosen) {
  return values.masked_select(chosen).mean().item<double>();
}

// What the engine records after an epoch, but for the accuracies.
void look_at(const ToyReference& reference, const toy::engine::TaskData& data, const at::Tensor& inputs,
             toy::engine::EpochRecord& record) {
  const torch::NoGradGuard no_grad;
  const int samples = std::min(data.samples, toy::engine::kProbeSamples);
  const auto [query_norm, key_norms, entropy] = reference.attended(inputs.narrow(0, 0, samples));
  auto biased = torch::zeros_like(key_norms, torch::kBool);
  auto unbiased = torch::zeros_like(biased);
  for (int s = 0; s < samples; ++s) (data.biased[s] == 1 ? biased : unbiased)[s][data.answer[s] + 1] = true;
  auto other = ~(biased | unbiased);
  other.select(1, 0).fill_(false);
  record.biased_key_norm = static_cast<float>(mean_where(key_norms, biased));
  record.unbiased_key_norm = static_cast<float>(mean_where(key_norms, unbiased));
  record.other_key_norm = static_cast<float>(mean_where(key_norms, other));
  record.query_norm = query_norm.mean().item<float>();
  record.entropy = entropy.mean().item<float>();
}

ToyResult libtorch_result(const ToySettings& settings, const ToyTraining& training, at::ScalarType dtype) {
  const auto drawn = toy::engine::draw_realization(settings.sizes, settings.seed, training.realization);
  const auto data = tensors_of(drawn.training, dtype);
  const ToyReference reference(model_of(settings, training),
                               toy::engine::initial_parameters(settings.sizes.tokens, settings.seed, training.initialization),
                               dtype);
  torch::optim::AdamW optimizer(reference.parameters(),
                                torch::optim::AdamWOptions(training.learning_rate).weight_decay(training.weight_decay));
  ToyResult result{.training = training};
  for (int epoch = 0; epoch < settings.epochs; ++epoch) {
    const auto order = toy::engine::batch_order(settings.sizes.training_samples, settings.seed, training.realization, epoch);
    double loss_sum = 0.0;
    for (const auto& batch :
         torch::tensor(std::vector<std::int64_t>(order.begin(), order.end())).split(settings.batch)) {
      optimizer.zero_grad();
      const auto logits = reference.logits(data.inputs.index_select(0, batch));
      const auto loss = torch::nn::functional::cross_entropy(logits, data.labels.index_select(0, batch));
      loss.backward();
      optimizer.step();
      loss_sum += loss.item<double>() * static_cast<double>(batch.size(0));
    }
    auto& record = result.figures.epochs.emplace_back();
    record.loss = static_cast<float>(loss_sum / settings.sizes.training_samples);
    look_at(reference, drawn.training, data.inputs, record);
  }
  result.figures.train_accuracy = static_cast<float>(accuracy_of(reference, data));
  result.figures.test_accuracy = static_cast<float>(accuracy_of(reference, tensors_of(drawn.test, dtype)));
  return result;
}

std::vector<ToyResult> libtorch_results(const ToySettings& settings, const std::vector<ToyTraining>& trainings,
                                        at::ScalarType dtype) {
  std::vector<ToyResult> results(trainings.size());
  std::atomic<std::size_t> next = 0;
  const auto work = [&] {
    at::set_num_threads(1);
    for (std::size_t i = next++; i < trainings.size(); i = next++) {
      results[i] = libtorch_result(settings, trainings[i], dtype);
    }
  };
  std::vector<std::jthread> workers;
  for (unsigned i = 0; i < std::max(1U, std::thread::hardware_concurrency()); ++i) workers.emplace_back(work);
  workers.clear();
  return results;
}

std::vector<ToyResult> engine_results(const ToySettings& settings, const std::vector<ToyTraining>& trainings) {
  std::map<ToyTraining, ToyResult> finished;
  toy::run_trainings(settings, trainings, 2,
                             {.on_finished =
                                  [&](const std::vector<ToyResult>& results) {
                                    for (const auto& result : results) finished[result.training] = result;
                                  },
                              .should_stop = [] { return false; }});
  std::vector<ToyResult> results;
  results.reserve(trainings.size());
  for (const auto& training : trainings) results.push_back(finished.at(training));
  return results;
}

double success_rate(const std::vector<ToyResult>& results, std::string_view formulation = "") {
  double trainings = 0.0;
  double correct = 0.0;
  for (const auto& result : results) {
    if (!formulation.empty() && result.training.formulation != formulation) continue;
    trainings += 1.0;
    correct += result.outcome() == toy::Outcome::correct ? 1.0 : 0.0;
  }
  return correct / trainings;
}

// The epochs that rounding has not driven apart yet. In float64, for in float32 AdamW turns the rounding of a gradient
// that is zero, that of the bias of keys that are not normalised, into steps of that bias.
TEST(ToyTraining, RecordsWhatAPlainLoopFinds) {
  ToySettings settings;
  settings.sizes = {.tokens = 20, .training_samples = 300, .test_samples = 200};
  settings.learning_rates = {0.0025};
  settings.weight_decays = {0.1};
  settings.epochs = 4;
  const auto trainings = one_training_per_grid_point(settings);
  const auto ours = engine_results(settings, trainings);
  const auto plain = libtorch_results(settings, trainings, torch::kFloat64);
  for (std::size_t i = 0; i < trainings.size(); ++i) {
    SCOPED_TRACE(trainings[i].formulation);
    for (int epoch = 0; epoch < settings.epochs; ++epoch) {
      const auto& a = ours[i].figures.epochs[epoch];
      const auto& b = plain[i].figures.epochs[epoch];
      EXPECT_NEAR(a.loss, b.loss, 1e-5);
      EXPECT_NEAR(a.biased_key_norm, b.biased_key_norm, 5e-5);
      EXPECT_NEAR(a.unbiased_key_norm, b.unbiased_key_norm, 5e-5);
      EXPECT_NEAR(a.other_key_norm, b.other_key_norm, 5e-5);
      EXPECT_NEAR(a.query_norm, b.query_norm, 5e-5);
      EXPECT_NEAR(a.entropy, b.entropy, 5e-5);
    }
    EXPECT_NEAR(ours[i].figures.train_accuracy, plain[i].figures.train_accuracy, 0.01);
    EXPECT_NEAR(ours[i].figures.test_accuracy, plain[i].figures.test_accuracy, 0.01);
  }
}

// About 15 minutes of CPU time: --gtest_also_run_disabled_tests --gtest_filter='ToyTraining.*150*'
TEST(ToyTraining, DISABLED_SucceedsAsOftenAsAPlainLoopIn150Trainings) {
  const auto settings = toy::paper_settings();
  const auto trainings = one_training_per_grid_point(settings);
  ASSERT_EQ(trainings.size(), 150U);
  const auto ours = engine_results(settings, trainings);
  const auto plain = libtorch_results(settings, trainings, torch::kFloat32);
  int same = 0;
  for (std::size_t i = 0; i < trainings.size(); ++i) same += ours[i].outcome() == plain[i].outcome() ? 1 : 0;
  for (const auto* formulation : kFormulations) {
    std::cout << formulation << ": success rate ours " << success_rate(ours, formulation) << ", LibTorch "
              << success_rate(plain, formulation) << "\n";
  }
  std::cout << "all: ours " << success_rate(ours) << ", LibTorch " << success_rate(plain) << "; same outcome in "
            << same << " of 150\n";
  EXPECT_NEAR(success_rate(ours), success_rate(plain), 0.03);
}

}  // namespace
}  // namespace quest::testing
