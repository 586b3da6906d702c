#pragma once

// What decides one training of the spurious-attention experiment.

#include <cstdint>
#include <string_view>

#include "domains/toy/engine/model.h"
#include "domains/toy/engine/task_data.h"
#include "domains/toy/engine/training.h"
#include "quest/formulation.h"
#include "recipe/fields.h"

namespace quest::toy {

struct SpuriousSettings {
  Formulation formulation = formulations::quest;
  engine::Wiring wiring = engine::Wiring::pre_norm;
  engine::TaskSizes sizes;
  std::uint64_t realization = 0;
  std::uint64_t initialization = 0;
  int epochs = 50;
  int batch_size = 32;
  double learning_rate = 0.0025;
  double weight_decay = 0.02;
  std::uint64_t seed = 0;
};

[[nodiscard]] std::string_view wiring_name(engine::Wiring wiring);

// Every key of a recipe but `task`.
void describe(recipe::Fields& fields, SpuriousSettings& settings);

// Throws std::invalid_argument for a formulation whose gain is not learned: the task has no data to estimate it from.
[[nodiscard]] engine::Model model_of(const SpuriousSettings& settings);

[[nodiscard]] engine::SweepRecipe recipe_of(const SpuriousSettings& settings);
[[nodiscard]] engine::SweepJob job_of(const SpuriousSettings& settings);

}  // namespace quest::toy
