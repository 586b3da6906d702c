#pragma once

// The spurious-attention experiment: which models are trained, what became of them, and what the paper says.

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "domains/toy/engine/model.h"
#include "domains/toy/engine/task_data.h"
#include "domains/toy/engine/training.h"
#include "quest/formulation.h"

namespace quest::toy {

using toy::engine::Wiring;

struct ToySettings {
  std::vector<std::string> formulations = {"standard", "quest", "qnorm"};
  Wiring wiring = Wiring::pre_norm;
  toy::engine::TaskSizes sizes;
  std::vector<double> learning_rates = {0.0005, 0.001, 0.0025, 0.005, 0.0075, 0.01};
  std::vector<double> weight_decays = {0.0, 0.02, 0.05, 0.1};
  int realizations = 5;
  int initializations = 2;
  std::uint64_t seed = 0;
  int epochs = 50;
  int batch = 32;
};

// Six formulations and the whole grid: 4,500 trainings.
[[nodiscard]] ToySettings paper_settings();

// Throws std::invalid_argument that names the setting, what was expected and what was given.
void check(const ToySettings& settings);

[[nodiscard]] std::string_view wiring_name(Wiring wiring);
[[nodiscard]] bool has_final_norm(Wiring wiring);

// Throws std::invalid_argument for a formulation whose gain is not learned: the task has no data to estimate it from.
[[nodiscard]] toy::engine::Model toy_model(const Formulation& formulation, Wiring wiring, int tokens);

struct ToyTraining {
  std::string formulation;
  double learning_rate = 0.0;
  double weight_decay = 0.0;
  int realization = 0;
  int initialization = 0;

  auto operator<=>(const ToyTraining&) const = default;
};

// Trainings that can share a vector (same formulation and realization) lie side by side.
[[nodiscard]] std::vector<ToyTraining> trainings_of(const ToySettings& settings);

enum class Outcome { correct, biased, degenerate, other };
inline constexpr std::array kOutcomes = {Outcome::correct, Outcome::biased, Outcome::degenerate, Outcome::other};

[[nodiscard]] std::string_view outcome_name(Outcome outcome);
// The rule behind outcome_of, in words.
[[nodiscard]] std::string_view outcome_meaning(Outcome outcome);
[[nodiscard]] Outcome outcome_of(double train_accuracy, double test_accuracy);

struct ToyResult {
  ToyTraining training;
  toy::engine::SweepResult figures;

  [[nodiscard]] Outcome outcome() const { return outcome_of(figures.train_accuracy, figures.test_accuracy); }
};

struct ToySummary {
  std::string formulation;
  int trainings = 0;
  std::array<int, kOutcomes.size()> outcomes{};  // in the order of kOutcomes
  // Success rate over learning rates × weight decays; empty where nothing was trained.
  std::vector<std::vector<std::optional<double>>> success;

  [[nodiscard]] double success_rate() const {
    return trainings == 0 ? 0.0 : static_cast<double>(outcomes[0]) / trainings;
  }
};

// One summary per formulation of the settings.
[[nodiscard]] std::vector<ToySummary> summarize(const ToySettings& settings, std::span<const ToyResult> results);

// The paper's success rate, where it states one.
[[nodiscard]] std::optional<double> paper_success_rate(std::string_view formulation);

}  // namespace quest::toy
