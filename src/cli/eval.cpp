// `quest eval`: how good the weights of a run, or of a file, are.

#include <torch/torch.h>

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "app/machine.h"
#include "cli/commands.h"
#include "app/json_file.h"
#include "app/run_start.h"
#include "terminal/table.h"
#include "app/train_options.h"
#include "app/training_view.h"
#include "app/usage_error.h"
#include "data/formats/weights_file.h"
#include "quest/models/load_weights.h"
#include "train/engine/engine.h"

namespace quest::cli {
namespace {

struct EvalCommand {
  app::RecipeOptions recipe;
  app::MachineOptions machine;
  std::string folder;
  std::string weights;
  std::string json_path;
};

std::vector<recipe::Setting> recipe_settings(const EvalCommand& command) {
  if (command.recipe.recipe.empty() && command.folder.empty()) {
    throw app::UsageError("expected --run FOLDER, or --weights FILE with the --recipe NAME or FILE of its model");
  }
  const auto recipe = command.recipe.recipe.empty()
                          ? (std::filesystem::path(command.folder) / train::kRecipeFile).string()
                          : command.recipe.recipe;
  return app::settings_of(recipe, app::assignments_of(command.recipe));
}

std::filesystem::path weights_of(const EvalCommand& command) {
  if (!command.weights.empty()) return command.weights;
  const std::filesystem::path folder = command.folder;
  if (folder.empty()) throw app::UsageError("expected the weights to evaluate: --run FOLDER or --weights FILE");
  for (const char* name : {train::kBestWeights, train::kLastWeights}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  throw app::UsageError("the run in \"" + folder.string() + "\" has no weights yet; they come with its first evaluation");
}

void run_eval(const EvalCommand& command) {
  const app::TaskRecipe recipe(app::find_task(command.recipe.task), recipe_settings(command));
  const auto weights = weights_of(command);
  app::require_writable(command.json_path);
  const auto device = app::use_machine(command.machine);
  const auto processes = train::communicator_from_environment(device);
  app::fetch_data(recipe.factory(), *processes);
  const auto task = recipe.factory().make(recipe.recipe(), device);
  models::load_weights_into(task->model(), data::load_weights(weights).tensors);
  const auto metrics = train::evaluate(*task, recipe.recipe(), *processes);
  if (processes->rank() != 0) return;
  terminal::Table table({{"metric", terminal::Align::left}, {"value"}});
  for (const auto& [name, value] : metrics) table.add_row({name, app::short_number(value)});
  std::cout << weights.string() << "\n\n" << table.render(terminal::TableStyle::text);
  app::write_json_file(command.json_path,
                  nlohmann::ordered_json({{"weights", weights.string()}, {"metrics", metrics}}).dump(2) + "\n");
}

}  // namespace

void add_eval_command(CLI::App& program) {
  auto* command = program.add_subcommand("eval", "Evaluate the weights of a run, or of a file");
  const auto state = std::make_shared<EvalCommand>();
  app::add_recipe_options(*command, state->recipe);
  command->add_option("--run", state->folder, "A run of `quest train`: its recipe and its best weights")
      ->type_name("FOLDER");
  command->add_option("--weights", state->weights, "Other weights: .safetensors, or a .pth state dict")
      ->type_name("FILE");
  app::add_machine_options(*command, state->machine);
  command->add_option("--json", state->json_path, "Write the metrics to this file")->type_name("FILE");
  command->callback([state] { run_eval(*state); });
}

}  // namespace quest::cli
