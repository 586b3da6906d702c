// The recipes beside the paper's tables of settings, as paper/graphs.toml has them.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "domains/graphs/graph_task.h"
#include "paper/sweep.h"
#include "recipe/recipe_files.h"
#include "train/engine/recipe.h"

namespace quest::paper {
namespace {

using Settings = std::map<std::string, std::string>;

Settings settings_of(const std::string& recipe) {
  Settings settings;
  for (const auto& setting : recipe::settings_of_recipe(recipe)) settings[setting.key] = recipe::text_of(setting.value);
  return settings;
}

const Item& table(const std::string& label) {
  static const auto experiment = *std::ranges::find(experiments(), "graphs", &Experiment::name);
  return *std::ranges::find(experiment.items, label, &Item::label);
}

// What the recipe says where the table has a row of that title; others have no key.
std::string ours(const std::string& row, Settings& settings) {
  const std::map<std::string, std::string> keys = {{"GPS layers", "model.depth"},
                                                   {"hidden dim", "model.dim"},
                                                   {"heads", "model.heads"},
                                                   {"PE dim", "model.encoding_dim"},
                                                   {"batch size", "train.batch_size"},
                                                   {"epochs", "train.epochs"},
                                                   {"dropout", "model.dropout"},
                                                   {"attention dropout", "model.attention_dropout"},
                                                   {"learning rate", "optimizer.lr"},
                                                   {"warm-up epochs", "schedule.warmup_epochs"},
                                                   {"weight decay", "optimizer.weight_decay"}};
  const auto key = keys.find(row);
  return key == keys.end() ? "" : settings.at(key->second);
}

TEST(GraphRecipes, HaveThePapersSettings) {
  std::size_t compared = 0;
  for (const std::string label : {"Table A10", "Table A11"}) {
    const auto& item = table(label);
    for (std::size_t column = 0; column < item.columns.size(); ++column) {
      std::string recipe = "graphs/" + item.columns[column].title;
      std::ranges::transform(recipe, recipe.begin(), [](unsigned char c) { return std::tolower(c); });
      auto settings = settings_of(recipe);
      for (std::size_t row = 0; row < item.rows.size(); ++row) {
        const auto text = ours(item.rows[row].title, settings);
        if (text.empty()) continue;
        ++compared;
        ASSERT_TRUE(item.numbers[row][column]) << recipe << " " << item.rows[row].title;
        EXPECT_DOUBLE_EQ(std::stod(text), std::stod(item.numbers[row][column]->text))
            << recipe << " " << item.rows[row].title;
      }
    }
  }
  EXPECT_EQ(compared, 9U * 11U);
}

TEST(GraphSweeps, PlanThePapersRuns) {
  const auto graphs = std::ranges::find(experiments(), "graphs", &Experiment::name);
  EXPECT_EQ(planned_runs(graphs->sweep).size(), (4U * 10U + 5U * 4U) * 2U);
  EXPECT_EQ(planned_runs(graphs->small).size(), 2U * 2U * 3U);
}

}  // namespace
}  // namespace quest::paper
