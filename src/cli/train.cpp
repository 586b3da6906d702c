// `quest train`: a task by a recipe, into a run folder.

#include <torch/torch.h>

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "app/machine.h"
#include "cli/commands.h"
#include "app/dry_run.h"
#include "app/interrupt.h"
#include "app/json_file.h"
#include "bench/matrix_rate.h"
#include "app/run_start.h"
#include "app/train_options.h"
#include "app/training_view.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "train/engine/engine.h"

namespace quest::cli {
namespace {

struct TrainCommand {
  app::RecipeOptions recipe;
  app::MachineOptions machine;
  std::string folder;
  std::string json_path;
  bool resume = false;
  bool dry_run = false;
};

// "fashion-mnist-tiny", also of "some/fashion-mnist-tiny.toml".
std::string recipe_name(const TrainCommand& command) {
  return std::filesystem::path(command.recipe.recipe).stem().string();
}

// The task's own, where none is named and none is to be resumed.
void choose_recipe(TrainCommand& command) {
  if (!command.recipe.recipe.empty() || (command.resume && !command.folder.empty())) return;
  {
    throw app::UsageError("expected --recipe NAME or FILE (`quest recipes` lists names), or --resume --run FOLDER");
  }
}

app::RunRequest request_of(const TrainCommand& command) {
  const bool has_folder = !command.folder.empty();
  return {.recipe = command.recipe.recipe,
          .assignments = app::assignments_of(command.recipe),
          .folder =
              has_folder ? std::filesystem::path(command.folder) : "runs" / std::filesystem::path(recipe_name(command)),
          .resume = command.resume};
}

nlohmann::ordered_json facts_of(const TrainCommand& command, const torch::nn::Module& model, at::Device device,
                                std::int64_t processes) {
  return {{"recipe", recipe_name(command)}, {"versions", {{"quest", app::quest_version()}, {"torch", app::torch_version()}}},
          {"device", device.str()},         {"threads", command.machine.threads},
          {"world_size", processes},        {"parameters", app::parameter_count(model)}};
}

app::TrainingView make_view(const train::Recipe& recipe, at::Device device, std::int64_t processes) {
  const auto dtype = recipe.train.precision == "bfloat16" ? at::kBFloat16 : at::kFloat;
  return {std::cout,
          std::cerr,
          {.terminal = terminal::standard_error_is_terminal(),
           .epochs = recipe.train.epochs,
           .peak_flop_per_second = bench::matrix_rate(device, dtype) * static_cast<double>(processes)}};
}

std::string ending_json(const train::Ending& ending, const std::string& folder) {
  const nlohmann::ordered_json json = {
      {"run", folder}, {"status", ending.status}, {"steps", ending.steps}, {"metrics", ending.metrics}};
  return json.dump(2) + "\n";
}

void tell_ending(const train::Ending& ending, const std::filesystem::path& folder, const std::string& task) {
  if (ending.status == "interrupted") {
    throw app::Interrupted("stopped after step " + std::to_string(ending.steps) + "; `quest train " + task +
                      " --resume --run " + folder.string() + "` goes on from there");
  }
  if (ending.status.starts_with("crashed")) {
    const auto weights = folder / train::kLastWeights;
    throw std::runtime_error("the training " + ending.status + "; what led to it is in " +
                             (folder / train::kCrashFile).string() +
                             (std::filesystem::exists(weights) ? ", the last good weights in " + weights.string()
                                                               : ", and no weights had been saved yet"));
  }
  std::cout << "Weights, metrics and statistics: " << folder.string() << "\n";
}

void run_dry(const TrainCommand& command, const app::TaskRecipe& recipe, train::Task& task,
             const train::Communicator& processes) {
  const auto plan = app::plan_of(task, recipe.recipe(), recipe_name(command), processes.size());
  if (processes.rank() != 0) return;
  std::cout << app::plan_text(plan, terminal::standard_output_style());
  app::write_json_file(command.json_path, app::plan_json(plan));
}

void run_train(TrainCommand command) {
  choose_recipe(command);
  const auto request = request_of(command);
  const app::TaskRecipe recipe(app::find_task(command.recipe.task), app::settings_of(request));
  app::require_writable(command.json_path);
  const auto device = app::use_machine(command.machine);
  const auto processes = train::communicator_from_environment(device);
  std::optional<train::RunFolder> folder;  // the first process alone writes
  if (processes->rank() == 0 && !command.dry_run) {
    folder.emplace(request.folder);
    app::check_run(request, *folder, recipe);
  }

  app::fetch_data(recipe.factory(), *processes);
  torch::manual_seed(recipe.recipe().seed);
  const auto task = recipe.factory().make(recipe.recipe(), device);
  if (command.dry_run) return run_dry(command, recipe, *task, *processes);
  if (folder) {
    folder->check_room(app::checkpoint_bytes(task->model(), recipe.recipe()));
    if (!folder->holds_run())
      app::describe_run(*folder, recipe, facts_of(command, task->model(), device, processes->size()));
  }
  auto view = make_view(recipe.recipe(), device, processes->size());
  const app::InterruptRequest interrupt;
  const auto ending = train::train(*task, recipe.recipe(),
                                   {.processes = *processes,
                                    .listener = view,
                                    .folder = folder ? &*folder : nullptr,
                                    .should_stop = app::InterruptRequest::made});
  if (!folder) return;
  app::write_json_file(command.json_path, ending_json(ending, request.folder.string()));
  tell_ending(ending, request.folder, command.recipe.task);
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto* command = program.add_subcommand("train", "Train a model by a recipe");
  const auto state = std::make_shared<TrainCommand>();
  app::add_recipe_options(*command, state->recipe);
  command->add_option("--run", state->folder, "Run folder; by default runs/ and the recipe's name")
      ->type_name("FOLDER");
  command->add_flag("--resume", state->resume, "Go on with the run in the folder, if it holds one");
  command->add_flag("--dry-run", state->dry_run, "Show model, cost, memory and schedule, and train nothing");
  app::add_machine_options(*command, state->machine);
  command->add_option("--json", state->json_path, "Write the outcome to this file")->type_name("FILE");
  command->callback([state] { run_train(*state); });
}

}  // namespace quest::cli
