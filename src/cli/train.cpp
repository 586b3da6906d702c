// `quest train`: a recipe, into a run folder.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>

#include "app/dry_run.h"
#include "app/interrupt.h"
#include "app/json_file.h"
#include "app/machine.h"
#include "app/packed_sweep.h"
#include "app/run_start.h"
#include "app/train_options.h"
#include "app/training_view.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "bench/matrix_rate.h"
#include "cli/commands.h"
#include "train/engine/engine.h"
#include "train/run/packed_runs.h"

namespace quest::cli {
namespace {

struct TrainCommand {
  std::string recipe;
  app::RecipeOptions options;
  app::MachineOptions machine;
  std::string folder;
  std::string json_path;
  int workers = 1;
  bool asks_for_workers = false;
  bool resume = false;
  bool dry_run = false;
};

// What a run is called: as `quest recipes` lists it, or "tiny" of "some/tiny.toml".
std::string recipe_name(const TrainCommand& command) {
  const std::filesystem::path path = command.recipe;
  return path.extension() == ".toml" ? path.stem().string() : command.recipe;
}

app::RunRequest request_of(const TrainCommand& command) {
  if (command.recipe.empty() && (!command.resume || command.folder.empty())) {
    throw app::UsageError("expected a recipe (`quest recipes` lists some), or --resume --run FOLDER");
  }
  return {.recipe = command.recipe,
          .options = command.options,
          .folder = !command.folder.empty() ? std::filesystem::path(command.folder)
                                            : "runs" / std::filesystem::path(recipe_name(command)).filename(),
          .resume = command.resume};
}

nlohmann::ordered_json facts_of(const TrainCommand& command, const app::TaskRecipe& recipe,
                                const torch::nn::Module& model, at::Device device, std::int64_t processes) {
  return {{"seed", recipe.recipe().seed},
          {"recipe", recipe_name(command)},
          {"versions", {{"quest", app::quest_version()}, {"torch", app::torch_version()}}},
          {"device", device.str()},
          {"threads", command.machine.threads},
          {"world_size", processes},
          {"parameters", app::parameter_count(model)}};
}

app::TrainingView make_view(train::Task& task, const train::Recipe& recipe, at::Device device,
                            const train::Communicator& processes) {
  const auto dtype = recipe.train.precision == "bfloat16" ? at::kBFloat16 : at::kFloat;
  const auto steps_per_epoch = task.stream(train::stream_options(recipe, processes))->steps_per_epoch();
  return {std::cout,
          std::cerr,
          {.terminal = terminal::standard_error_is_terminal(),
           .epochs = static_cast<double>(train::total_steps(recipe.train, steps_per_epoch)) /
                     static_cast<double>(steps_per_epoch),
           .peak_flop_per_second = bench::matrix_rate(device, dtype) * static_cast<double>(processes.size())}};
}

std::string ending_json(const train::Ending& ending, const std::string& folder) {
  const nlohmann::ordered_json json = {
      {"run", folder}, {"status", ending.status}, {"steps", ending.steps}, {"metrics", ending.metrics}};
  return json.dump(2) + "\n";
}

void tell_ending(const train::Ending& ending, const std::filesystem::path& folder) {
  if (ending.status == "interrupted") {
    throw app::Interrupted("stopped after step " + std::to_string(ending.steps) + "; `quest train --resume --run " +
                           folder.string() + "` goes on from there");
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
  const auto plan = app::plan_of(task, recipe.recipe(), recipe_name(command), processes);
  if (processes.rank() != 0) return;
  std::cout << app::plan_text(plan, terminal::standard_output_style());
  app::write_json_file(command.json_path, app::plan_json(plan));
}

void check_packed(const TrainCommand& command) {
  if (command.dry_run) throw app::UsageError("--dry-run: the runs of this task are too small to plan; leave it out");
  if (command.asks_for_workers) {
    throw app::UsageError("--workers: the runs of this task load no batches; leave it out");
  }
}

// Of the run that has no settings but the folder's.
void write_packed_ending(const TrainCommand& command, const std::filesystem::path& folder) {
  train::PackedResult ending;
  ending.status = "interrupted";
  for (auto& run : train::read_packed_runs(folder).runs) {
    if (run.settings.empty()) ending = std::move(run.result);
  }
  const nlohmann::ordered_json json = {
      {"run", folder.string()}, {"status", ending.status}, {"metrics", ending.metrics}};
  app::write_json_file(command.json_path, json.dump(2) + "\n");
}

void train_one_packed(const TrainCommand& command, const app::RunRequest& request) {
  const auto& task = app::find_task(app::task_of(app::settings_of(request)));
  app::PackedSweep sweep{
      .recipe = request.recipe.empty() ? (request.folder / train::kRecipeFile).string() : request.recipe,
      .assignments = app::assignments_of(command.options, task),
      .folder = request.folder,
      .device = command.machine.device,
      .threads = command.machine.threads};
  sweep.runs.push_back(std::make_unique<app::TaskRecipe>(app::settings_of(request)));
  try {
    app::train_packed(sweep);
  } catch (const app::Interrupted&) {
    write_packed_ending(command, request.folder);
    throw;
  }
  write_packed_ending(command, request.folder);
  std::cout << "Outcome: " << (request.folder / train::kPackedRunsFile).string() << "\n";
}

void run_train(const TrainCommand& command) {
  const auto request = request_of(command);
  const app::TaskRecipe recipe(app::settings_of(request));
  if (recipe.is_packed()) check_packed(command);
  app::require_writable(command.json_path);
  if (recipe.is_packed()) return train_one_packed(command, request);
  const auto device = app::use_machine(command.machine);
  const auto processes = train::communicator_from_environment(device);
  std::optional<train::RunFolder> folder;  // the first process alone writes
  if (processes->rank() == 0 && !command.dry_run) {
    app::check_run(request, recipe);
    folder.emplace(request.folder);
  }
  const auto task = app::make_task(recipe, device, *processes);
  if (command.dry_run) return run_dry(command, recipe, *task, *processes);
  if (folder) {
    folder->check_room(app::checkpoint_bytes(*task, recipe.recipe()));
    if (!folder->holds_run()) {
      app::describe_run(*folder, recipe, facts_of(command, recipe, task->model(), device, processes->size()));
    }
  }
  auto view = make_view(*task, recipe.recipe(), device, *processes);
  const app::InterruptRequest interrupt;
  const auto ending = train::train(*task, recipe.recipe(),
                                   {.processes = *processes,
                                    .listener = view,
                                    .folder = folder ? &*folder : nullptr,
                                    .should_stop = app::InterruptRequest::made,
                                    .workers = command.workers});
  if (!folder) return;
  app::write_json_file(command.json_path, ending_json(ending, request.folder.string()));
  tell_ending(ending, request.folder);
}

}  // namespace

void add_train_command(CLI::App& program) {
  auto* command = program.add_subcommand("train", "Train a model by a recipe");
  const auto state = std::make_shared<TrainCommand>();
  command->add_option("recipe", state->recipe, "A name that `quest recipes` lists, or a .toml file")
      ->type_name("NAME|FILE");
  app::add_recipe_options(*command, state->options);
  command->add_option("--run", state->folder, "Run folder; by default runs/ and the last part of the recipe's name")
      ->type_name("FOLDER");
  command->add_flag("--resume", state->resume, "Go on with the run in the folder, if it holds one");
  command->add_flag("--dry-run", state->dry_run, "Show model, cost, memory and schedule, and train nothing");
  app::add_machine_options(*command, state->machine);
  const auto* workers = command
                            ->add_option("--workers", state->workers,
                                         "Threads that load batches ahead; the results do not depend on them")
                            ->capture_default_str()
                            ->check(CLI::Range(0, 1024));
  command->add_option("--json", state->json_path, "Write the outcome, or the plan of --dry-run, to this file")
      ->type_name("FILE");
  command->callback([state, workers] {
    state->asks_for_workers = workers->count() > 0;
    run_train(*state);
  });
}

}  // namespace quest::cli
