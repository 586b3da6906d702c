#include "train/engine/recipe.h"

#include <gtest/gtest.h>

namespace quest::train {
namespace {

std::string error_of(std::initializer_list<const char*> assignments) {
  Recipe recipe;
  recipe::Fields fields;
  describe(fields, recipe);
  std::vector<recipe::Setting> settings;
  for (const char* assignment : assignments) settings.push_back(recipe::setting_of_assignment(assignment));
  try {
    fields.apply(settings);
  } catch (const recipe::RecipeError& error) {
    return error.what();
  }
  return "";
}

TEST(Recipe, ItsDefaultsAreARecipe) {
  Recipe recipe;
  recipe::Fields fields;
  describe(fields, recipe);
  const auto written = fields.toml();
  EXPECT_NO_THROW(fields.apply(recipe::settings_of_toml(written, "defaults")));
  EXPECT_EQ(fields.toml(), written);
}

TEST(Recipe, EveryOptimizerIsAChoice) {
  for (const auto name : optimizer_names()) {
    EXPECT_EQ(error_of({("optimizer.name=" + std::string(name)).c_str()}), "");
  }
  EXPECT_NE(error_of({"optimizer.name=adma"}).find("expected one of"), std::string::npos);
}

TEST(Recipe, EveryScheduleOfTheListCanBeComputed) {
  for (const char* name : {"cosine", "polynomial", "one_cycle", "constant"}) {
    EXPECT_EQ(error_of({(std::string("schedule.name=") + name).c_str()}), "");
    for (const char* every : {"step", "epoch", "late_epoch"}) {
      const ScheduleOptions options{.name = name, .every = every};
      EXPECT_GE(learning_rate(options, 1.0, 5, 10, 2), 0.0) << name << " " << every;
    }
  }
}

TEST(Recipe, WhatContradictsIsRefused) {
  EXPECT_NE(error_of({"schedule.warmup_steps=3", "schedule.warmup_epochs=0.5"}).find("give one of them"),
            std::string::npos);
  EXPECT_NE(error_of({"optimizer.lr=0.1", "schedule.min_lr=0.2"}).find("got 0.2 and 0.1"), std::string::npos);
  EXPECT_NE(error_of({"train.precision=float16"}).find("expected one of float32, bfloat16"), std::string::npos);
  EXPECT_NE(error_of({"train.ema=1"}).find("from 0 to below 1"), std::string::npos);
  EXPECT_NE(error_of({"train.eval_every=0"}).find("from 1"), std::string::npos);
}

}  // namespace
}  // namespace quest::train
