// `quest bench toy`: trainings per second of the sweep engine beside a Python loop of the same training.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "base/clock.h"
#include "app/machine.h"
#include "cli/commands.h"
#include "app/json_file.h"
#include "bench/measure.h"
#include "terminal/progress.h"
#include "bench/python_clock.h"
#include "terminal/table.h"
#include "terminal/terminal.h"
#include "cli/toy_options.h"
#include "cli/toy_python_loop.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "domains/toy/toy_run.h"
#include "kernels/cpu/attention.h"
#include "domains/toy/engine/cpu/lane_models.h"

namespace quest::cli {
namespace {

using toy::ToySettings;

struct ToyBench {
  ToyOptions options;
  std::string python = app::default_python();
  double seconds = 5.0;
  std::string json_path;
};

struct ToySpeed {
  std::string formulation;
  double ours = 0.0;  // trainings per second
  PythonRate python;
};

// A full vector per thread, from the first epoch to the last record.
double engine_speed(ToySettings settings, int threads) {
  settings.learning_rates = {0.0025};
  settings.weight_decays = {0.02};
  settings.realizations = threads;
  settings.initializations = toy::engine::cpu::model_lanes();
  const auto trainings = toy::trainings_of(settings);
  const double start = base::steady_seconds();
  toy::run_trainings(settings, trainings, threads,
                             {.on_finished = [](const auto&) {}, .should_stop = [] { return false; }});
  return static_cast<double>(trainings.size()) / (base::steady_seconds() - start);
}

std::string bench_table_of(const std::vector<ToySpeed>& speeds, int threads) {
  terminal::Table table(
      {{"formulation", terminal::Align::left}, {"ours per s"}, {"python per s"}, {"ours s/core"}, {"python s/core"}, {"ratio"}});
  std::string why_not;
  for (const auto& [formulation, ours, python] : speeds) {
    const bool measured = python.per_second.has_value();
    const double rate = python.per_second.value_or(0.0);
    table.add_row({formulation, terminal::three_digits(ours), measured ? terminal::three_digits(rate) : "-", terminal::three_digits(threads / ours),
                   measured ? terminal::three_digits(threads / rate) : "-", measured ? terminal::fixed(ours / rate, 0) + "x" : "-"});
    if (!measured) why_not = python.why_not;
  }
  auto text = table.render(terminal::TableStyle::text);
  if (!why_not.empty()) text += "\nNo figure of the Python loop: " + why_not + "\n";
  return text;
}

std::string bench_json_of(const std::vector<ToySpeed>& speeds) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& [formulation, ours, python] : speeds) {
    nlohmann::ordered_json row = {{"formulation", formulation}, {"ours_per_second", ours}};
    if (python.per_second) {
      row["python_per_second"] = *python.per_second;
    } else {
      row["python_missing"] = python.why_not;
    }
    array.push_back(std::move(row));
  }
  return array.dump(2) + "\n";
}

void run_toy_bench(const ToyBench& bench) {
  const auto settings = resolved_settings(bench.options);
  const int threads = bench.options.threads;
  app::require_writable(bench.json_path);
  std::cout << "quest " << app::quest_version() << ", torch " << app::torch_version() << ", " << kernels::cpu::instruction_set()
            << ", " << threads << (threads == 1 ? " thread" : " threads") << "; wiring "
            << toy::wiring_name(settings.wiring) << ", " << settings.sizes.training_samples << " samples, "
            << settings.epochs << " epochs\n"
            << "python: a PyTorch loop in one process per thread, steps of " << terminal::fixed(bench.seconds, 0)
            << " seconds extrapolated to a training, without evaluation\n\n"
            << std::flush;
  std::vector<ToySpeed> speeds;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  for (const auto& formulation : settings.formulations) {
    auto one = settings;
    one.formulations = {formulation};
    progress.update(static_cast<double>(speeds.size()) / static_cast<double>(settings.formulations.size()),
                    formulation);
    const auto ours = engine_speed(one, threads);
    speeds.push_back({formulation, ours, python_rate(bench.python, one, threads, bench.seconds)});
  }
  progress.clear();
  std::cout << bench_table_of(speeds, threads);
  app::write_json_file(bench.json_path, bench_json_of(speeds));
}

}  // namespace

void add_toy_bench_command(CLI::App& program) {
  auto* command = program.get_subcommand("bench")->add_subcommand(
      "toy", "Trainings per second of the spurious-attention experiment beside a Python loop");
  const auto bench = std::make_shared<ToyBench>();
  command->add_option("--formulations", bench->options.settings.formulations, "Which attention to train with")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  add_toy_model_options(*command, bench->options);
  command->add_option("--seconds", bench->seconds, "Time for each measurement of the Python loop")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--python", bench->python, "Python with torch that runs the loop")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", bench->json_path, "Write the rates to this file")->type_name("FILE");
  command->callback([bench] { run_toy_bench(*bench); });
}

}  // namespace quest::cli
