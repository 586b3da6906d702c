// `quest toy`: the spurious-attention experiment.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "cli/commands.h"
#include "app/interrupt.h"
#include "app/json_file.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"
#include "cli/toy_options.h"
#include "cli/toy_report.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "domains/toy/toy_folder.h"
#include "domains/toy/toy_read.h"
#include "domains/toy/toy_run.h"
#include "domains/toy/engine/cuda/train.h"
#include "domains/toy/toy_page.h"
#include "report/page/write.h"

namespace quest::cli {
namespace {

using toy::ToyFolder;
using toy::ToyResult;
using toy::ToySettings;

struct ToyCommand {
  ToyOptions options;
  std::string device = "auto";
  bool paper = false;
  std::string folder = "runs/toy";
  std::string json_path;
};

// The paper's grid, but for what was asked for by name.
void widen_to_paper(const CLI::App& command, ToySettings& settings) {
  const auto paper = toy::paper_settings();
  const auto given = [&](const char* option) { return command.count(option) > 0; };
  if (!given("--formulations")) settings.formulations = paper.formulations;
  if (!given("--learning-rates")) settings.learning_rates = paper.learning_rates;
  if (!given("--weight-decays")) settings.weight_decays = paper.weight_decays;
  if (!given("--realizations")) settings.realizations = paper.realizations;
  if (!given("--initializations")) settings.initializations = paper.initializations;
}

void print_task(const ToySettings& settings, std::size_t trainings) {
  std::cout << "Find the one token that differs among " << settings.sizes.tokens
            << " and tell its class. In half of the "
            << "training samples\nit also carries a fixed pattern, which is easier to learn and absent from the test.\n"
            << trainings << " trainings: " << settings.formulations.size() << " formulations x "
            << settings.learning_rates.size() << " learning rates x " << settings.weight_decays.size()
            << " weight decays x " << settings.realizations << " data sets x " << settings.initializations
            << " initialisations;\n"
            << settings.sizes.training_samples << " samples, " << settings.epochs << " epochs, wiring "
            << toy::wiring_name(settings.wiring) << ".\n"
            << std::flush;
}

// Throws UsageError where a GPU is asked for that cannot serve.
bool is_for_gpu(const std::string& device, const ToySettings& settings) {
  if (device == "cpu") return false;
  const auto obstacle = kernels::cuda::sweep_obstacle(settings.sizes.tokens);
  if (device == "cuda" && !obstacle.empty()) {
    throw app::UsageError("--device cuda: " + obstacle + "; or run with --device cpu");
  }
  return obstacle.empty();
}

// Trains what the folder lacks.
void train(ToyFolder& folder, const ToySettings& settings, int threads, bool on_gpu) {
  const auto trainings = folder.unfinished();
  const app::InterruptRequest interrupt;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  const double start = base::steady_seconds();
  double done = 0.0;
  const auto on_epoch = [&](std::size_t advanced) {
    done += static_cast<double>(advanced) / settings.epochs;
    const std::string label = terminal::fixed(done, 0) + " of " + std::to_string(trainings.size()) + " trainings, " +
                              terminal::three_digits(done / (base::steady_seconds() - start)) + " per second";
    progress.update(done / static_cast<double>(trainings.size()), label);
  };
  const toy::ToyCallbacks callbacks{
      .on_finished = [&](const std::vector<ToyResult>& results) { folder.add(results); },
      .on_epoch = on_epoch,
      .should_stop = app::InterruptRequest::made};
  if (on_gpu) {
    toy::run_trainings_on_gpu(settings, trainings, callbacks);
  } else {
    toy::run_trainings(settings, trainings, threads, callbacks);
  }
  progress.clear();
  if (app::InterruptRequest::made() && !folder.unfinished().empty()) {
    throw app::Interrupted("stopped; " + std::to_string(folder.results().size()) + " of " +
                      std::to_string(toy::trainings_of(settings).size()) +
                      " trainings are finished and kept in " + folder.path().string() +
                      ". The same command goes on from there.");
  }
  const double seconds = base::steady_seconds() - start;
  if (!trainings.empty()) {
    std::cout << trainings.size() << " trainings in " << terminal::duration_text(seconds) << ", "
              << terminal::three_digits(static_cast<double>(trainings.size()) / seconds) << " per second.\n";
  }
}

void run_toy(const ToyCommand& command) {
  const auto settings = resolved_settings(command.options);
  app::require_writable(command.json_path);
  const bool on_gpu = is_for_gpu(command.device, settings);
  ToyFolder folder(command.folder, settings, "quest " + app::quest_version());
  print_task(settings, toy::trainings_of(settings).size());
  if (const auto kept = folder.results().size(); kept > 0) {
    std::cout << kept << " of them are finished in " << command.folder << " already.\n";
  }
  if (on_gpu) std::cout << "Training on " << kernels::cuda::sweep_device(settings.sizes.tokens).name << ".\n";
  train(folder, settings, command.options.threads, on_gpu);

  const auto summaries = toy::summarize(settings, folder.results());
  std::cout << "\nTrainings that found the right cue, in percent (train and test accuracy above 90 %):\n\n"
            << toy_heat_maps(settings, summaries, terminal::standard_output_style()) << "\n"
            << toy_outcome_table(summaries)
            << "\nEvery training, epoch by epoch: " << (folder.path() / "results.jsonl").string() << "\n";
  const std::vector runs = {toy::read_toy_run(folder.path())};
  const auto page = folder.path() / "report.html";
  report::write_page(toy::toy_report(runs), page);
  std::cout << "The report, for a browser: " << page.string() << "\n";
  app::write_json_file(command.json_path, toy_json(settings, summaries));
}

}  // namespace

void add_toy_command(CLI::App& program) {
  auto* command = program.add_subcommand("toy", "The paper's spurious-attention experiment: about a minute");
  const auto state = std::make_shared<ToyCommand>();
  auto& settings = state->options.settings;
  command->add_option("--formulations", settings.formulations, "Which attention to train with")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--learning-rates", settings.learning_rates, "Rows of the grid")
      ->capture_default_str()
      ->delimiter(',');
  command->add_option("--weight-decays", settings.weight_decays, "Columns of the grid")
      ->capture_default_str()
      ->delimiter(',');
  command->add_option("--realizations", settings.realizations, "Data sets")->capture_default_str();
  command->add_option("--initializations", settings.initializations, "Initialisations of the weights")
      ->capture_default_str();
  command->add_flag("--paper", state->paper, "The paper's whole grid, 4,500 trainings; other options still hold");
  add_toy_model_options(*command, state->options);
  command->add_option("--device", state->device, "Where to train; auto: on a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command->add_option("--run", state->folder, "Run folder; what it holds already is not trained again")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->add_option("--json", state->json_path, "Write outcomes and success rates to this file")->type_name("FILE");
  command->callback([state, command] {
    if (state->paper) widen_to_paper(*command, state->options.settings);
    run_toy(*state);
  });
}

}  // namespace quest::cli
