// `quest eval`: how good the weights of a run, or of a file, are; and what evaluations find of them.

#include <CLI/App.hpp>
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/interrupt.h"
#include "app/json_file.h"
#include "app/machine.h"
#include "app/train_options.h"
#include "app/training_view.h"
#include "app/usage_error.h"
#include "base/table.h"
#include "cli/commands.h"
#include "data/weights/weights_file.h"
#include "eval/run_evaluation.h"
#include "quest/models/load_weights.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"
#include "train/engine/evaluate.h"
#include "train/run/run_folder.h"

namespace quest::cli {
namespace {

struct EvalCommand {
  std::string subject;  // a run's folder, or a recipe
  std::string weights;
  std::string evaluation;
  app::RecipeOptions options;
  app::MachineOptions machine;
  std::string json_path;
};

bool is_run(const EvalCommand& command) { return std::filesystem::is_directory(command.subject); }

struct EvalSettings {
  std::vector<recipe::Setting> of_recipe;
  std::vector<recipe::Setting> of_evaluation;
};

EvalSettings settings_of(const EvalCommand& command) {
  const auto recipe =
      is_run(command) ? (std::filesystem::path(command.subject) / train::kRecipeFile).string() : command.subject;
  auto settings = app::settings_of(recipe, {});
  const auto& task = app::find_task(app::task_of(settings));
  std::vector<recipe::Setting> given;
  for (const auto& assignment : app::assignments_of(command.options, task)) {
    given.push_back(recipe::setting_of_assignment(assignment));
  }
  std::vector<recipe::Setting> of_evaluation;
  if (!command.evaluation.empty()) of_evaluation = eval::take_settings(given, command.evaluation);
  std::ranges::move(given, std::back_inserter(settings));
  return {std::move(settings), std::move(of_evaluation)};
}

std::filesystem::path weights_of(const EvalCommand& command) {
  if (!command.weights.empty()) return command.weights;
  if (!is_run(command)) {
    throw app::UsageError("\"" + command.subject +
                          "\" is no run folder; a recipe needs the weights to evaluate: --weights FILE");
  }
  const std::filesystem::path folder = command.subject;
  for (const char* name : {train::kBestWeights, train::kLastWeights}) {
    if (std::filesystem::exists(folder / name)) return folder / name;
  }
  throw app::UsageError("the run in \"" + folder.string() +
                        "\" has no weights yet; they come with its first evaluation");
}

void print(const metrics::Values& metrics, const std::filesystem::path& weights, const std::string& json_path) {
  base::Table table{.caption = "", .columns = {{"metric", base::Align::left}, {"value"}}, .rows = {}};
  for (const auto& [name, value] : metrics) table.add_row({name, app::short_number(value)});
  std::cout << weights.string() << "\n\n" << terminal::text_of(table);
  app::write_json_file(json_path,
                       nlohmann::ordered_json({{"weights", weights.string()}, {"metrics", metrics}}).dump(2) + "\n");
}

metrics::Values evaluated(const EvalCommand& command, const std::vector<recipe::Setting>& settings,
                          const train::Recipe& recipe, train::Task& task, train::Communicator& processes,
                          const std::filesystem::path& weights) {
  if (command.evaluation.empty()) return train::evaluate(task, recipe, processes);
  const app::InterruptRequest interrupt;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  const auto findings = eval::run_evaluation(
      {.name = command.evaluation,
       .settings = settings,
       .run = is_run(command) ? std::filesystem::path(command.subject) : std::filesystem::path(),
       .facts = {{"weights", weights.filename().string()}}},
      domains::all_evaluations(), {.task = task, .recipe = recipe, .processes = processes, .scratch = {}},
      {.on_progress = [&](double done, std::string_view label) { progress.update(done, label); },
       .should_stop = app::InterruptRequest::made});
  progress.clear();
  return findings.metrics;
}

void run_eval(const EvalCommand& command) {
  const auto weights = weights_of(command);
  const auto settings = settings_of(command);
  const app::TaskRecipe recipe(settings.of_recipe);
  app::require_writable(command.json_path);
  const auto device = app::use_machine(command.machine);
  const auto processes = train::communicator_from_environment(device);
  const auto task = app::make_task(recipe, device, *processes);
  models::load_weights_into(task->model(), data::load_weights(weights).tensors);
  metrics::Values metrics;
  try {
    metrics = evaluated(command, settings.of_evaluation, recipe.recipe(), *task, *processes, weights);
  } catch (const eval::Stopped& stopped) {
    throw app::Interrupted(stopped.what());
  } catch (const std::invalid_argument& problem) {  // of the evaluation's name, of its options, or of the task for it
    throw app::UsageError(problem.what());
  }
  if (processes->rank() == 0) print(metrics, weights, command.json_path);
}

std::string evaluations_text() {
  std::string text;
  for (const auto& entry : domains::all_evaluations()) {
    text += (text.empty() ? "" : ", ") + std::string(entry.name) + " (" + std::string(entry.summary) + ")";
  }
  return text;
}

}  // namespace

void add_eval_command(CLI::App& program) {
  auto* command = program.add_subcommand("eval", "Evaluate the weights of a run, or of a file");
  const auto state = std::make_shared<EvalCommand>();
  command->add_option("run", state->subject, "A run of `quest train`; or, with --weights, the recipe of their model")
      ->required()
      ->type_name("RUN|RECIPE");
  command
      ->add_option("--weights", state->weights,
                   "Weights: .safetensors, or a .pth state dict; by default the run's best")
      ->type_name("FILE");
  command
      ->add_option("--with", state->evaluation,
                   "An evaluation instead of the task's own; it is kept in the run. One of: " + evaluations_text())
      ->type_name("EVALUATION");
  app::add_recipe_options(*command, state->options);
  app::add_machine_options(*command, state->machine);
  command->add_option("--json", state->json_path, "Write the metrics to this file")->type_name("FILE");
  command->callback([state] { run_eval(*state); });
}

}  // namespace quest::cli
