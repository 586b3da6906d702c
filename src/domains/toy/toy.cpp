#include "domains/toy/toy.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace quest::toy {
namespace {

constexpr double kCorrectAbove = 0.9;
constexpr std::pair kBiasedTrain = {0.5, 0.8};
constexpr std::pair kBiasedTest = {0.2, 0.45};
constexpr double kDegenerateUpTo = 0.2;  // chance is 0.1

constexpr std::array<std::pair<std::string_view, double>, 4> kPaperSuccess = {
    {{"quest", 0.58}, {"qknorm_hs", 0.0}, {"qknorm_ds", 0.0}, {"qknorm", 0.0}}};

bool within(double value, std::pair<double, double> range) { return value >= range.first && value <= range.second; }

void expect(bool holds, const std::string& setting, const std::string& expected, const std::string& given) {
  if (!holds) throw std::invalid_argument(setting + ": expected " + expected + ", got " + given);
}

void expect_range(const std::string& setting, int value, int least, int most) {
  expect(value >= least && value <= most, setting,
         "a number from " + std::to_string(least) + " to " + std::to_string(most), std::to_string(value));
}

std::string text_of(double value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

void expect_values(const std::string& setting, const std::vector<double>& values, double most) {
  expect(!values.empty(), setting, "at least one value", "none");
  for (const double value : values) {
    expect(value >= 0.0 && value <= most, setting, "values from 0 to " + text_of(most), text_of(value));
    expect(std::ranges::count(values, value) == 1, setting, "different values", text_of(value) + " twice");
  }
}

std::size_t index_of(const std::vector<double>& values, double value) {
  return static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
}

}  // namespace

ToySettings paper_settings() {
  ToySettings settings;
  settings.formulations = {"standard", "quest", "qnorm", "qknorm_hs", "qknorm_ds", "qknorm"};
  settings.weight_decays = {0.0, 0.01, 0.02, 0.05, 0.1};
  settings.initializations = 5;
  return settings;
}

void check(const ToySettings& settings) {
  expect(!settings.formulations.empty(), "formulations", "at least one", "none");
  for (const std::string& name : settings.formulations) {
    static_cast<void>(toy_model(formulation_from_name(name), settings.wiring, settings.sizes.tokens));
    expect(std::ranges::count(settings.formulations, name) == 1, "formulations", "different names", name + " twice");
  }
  expect_range("tokens", settings.sizes.tokens, 1, 1000);
  expect_range("samples", settings.sizes.training_samples, 1, 1'000'000);
  expect_range("test samples", settings.sizes.test_samples, 1, 1'000'000);
  expect_values("learning rates", settings.learning_rates, 10.0);
  expect_values("weight decays", settings.weight_decays, 10.0);
  expect_range("realizations", settings.realizations, 1, 10'000);
  expect_range("initializations", settings.initializations, 1, 10'000);
  expect_range("epochs", settings.epochs, 1, 100'000);
  expect_range("batch", settings.batch, 1, 1'000'000);
}

std::string_view wiring_name(Wiring wiring) { return wiring == Wiring::algorithm ? "algorithm" : "pre-norm"; }

bool has_final_norm(Wiring wiring) { return wiring == Wiring::pre_norm; }

toy::engine::Model toy_model(const Formulation& formulation, Wiring wiring, int tokens) {
  using toy::engine::Gain;
  if (formulation.gain_axes != GainAxes::none && !formulation.gain_is_learned) {
    throw std::invalid_argument("formulation: expected one with a learned gain or none, got '" +
                                std::string(formulation.name) + "', whose gain is estimated from data");
  }
  Gain gain = Gain::per_dim;
  if (formulation.gain_axes == GainAxes::none) gain = Gain::none;
  if (formulation.gain_axes == GainAxes::head) gain = Gain::logarithm;
  return {.wiring = wiring,
          .normalize_q = formulation.normalize_q,
          .normalize_k = formulation.normalize_k,
          .scale = static_cast<float>(formulation.default_scale(toy::engine::kWidth)),
          .gain = gain,
          .tokens = tokens};
}

std::vector<ToyTraining> trainings_of(const ToySettings& settings) {
  std::vector<ToyTraining> trainings;
  for (const std::string& formulation : settings.formulations) {
    for (int realization = 0; realization < settings.realizations; ++realization) {
      for (const double learning_rate : settings.learning_rates) {
        for (const double weight_decay : settings.weight_decays) {
          for (int initialization = 0; initialization < settings.initializations; ++initialization) {
            trainings.push_back({formulation, learning_rate, weight_decay, realization, initialization});
          }
        }
      }
    }
  }
  return trainings;
}

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::correct:
      return "correct";
    case Outcome::biased:
      return "biased";
    case Outcome::degenerate:
      return "degenerate";
    case Outcome::other:
      break;
  }
  return "other";
}

std::string_view outcome_meaning(Outcome outcome) {
  switch (outcome) {
    case Outcome::correct:
      return "train and test accuracy above 90 %";
    case Outcome::biased:
      return "train accuracy 50 to 80 %, test accuracy 20 to 45 %";
    case Outcome::degenerate:
      return "train and test accuracy at most 20 %, near the 10 % of chance";
    case Outcome::other:
      break;
  }
  return "everything else";
}

Outcome outcome_of(double train_accuracy, double test_accuracy) {
  if (train_accuracy > kCorrectAbove && test_accuracy > kCorrectAbove) return Outcome::correct;
  if (within(train_accuracy, kBiasedTrain) && within(test_accuracy, kBiasedTest)) return Outcome::biased;
  if (train_accuracy <= kDegenerateUpTo && test_accuracy <= kDegenerateUpTo) return Outcome::degenerate;
  return Outcome::other;
}

std::vector<ToySummary> summarize(const ToySettings& settings, std::span<const ToyResult> results) {
  std::vector<ToySummary> summaries;
  for (const std::string& formulation : settings.formulations) {
    ToySummary summary{.formulation = formulation};
    std::map<std::pair<std::size_t, std::size_t>, std::pair<int, int>> cells;  // correct ones, and all
    for (const ToyResult& result : results) {
      if (result.training.formulation != formulation) continue;
      ++summary.trainings;
      ++summary.outcomes[static_cast<std::size_t>(result.outcome())];
      auto& [correct, all] = cells[{index_of(settings.learning_rates, result.training.learning_rate),
                                    index_of(settings.weight_decays, result.training.weight_decay)}];
      correct += result.outcome() == Outcome::correct ? 1 : 0;
      ++all;
    }
    summary.success.assign(settings.learning_rates.size(),
                           std::vector<std::optional<double>>(settings.weight_decays.size()));
    for (const auto& [at, counts] : cells) {
      summary.success[at.first][at.second] = static_cast<double>(counts.first) / counts.second;
    }
    summaries.push_back(std::move(summary));
  }
  return summaries;
}

std::optional<double> paper_success_rate(std::string_view formulation) {
  const auto* found = std::ranges::find(kPaperSuccess, formulation, &std::pair<std::string_view, double>::first);
  if (found == kPaperSuccess.end()) return std::nullopt;
  return found->second;
}

}  // namespace quest::toy
