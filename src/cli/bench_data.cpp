// `quest bench data`: how fast a recipe's samples are loaded, stage by stage, beside decoding alone and beside Pillow.

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <string>

#include "app/json_file.h"
#include "app/machine.h"
#include "app/train_options.h"
#include "app/versions.h"
#include "bench/data_contest.h"
#include "cli/commands.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"

namespace quest::cli {
namespace {

struct DataBench {
  std::string recipe;
  app::RecipeOptions options;
  bench::DataPlan plan{.threads = app::default_threads(), .python = app::default_python()};
  std::string json_path;
};

std::string heading(const DataBench& bench) {
  return app::setting_line() + "; recipe " + bench.recipe +
         ". Samples per second; files come from the system's\nmemory where they fit into it. Of the stages: what the "
         "threads would reach if they did nothing else. Pillow: in as\nmany processes.\n\n";
}

void run_data_bench(const DataBench& bench) {
  app::require_writable(bench.json_path);
  const auto named = app::settings_of(bench.recipe, bench.options.assignments);
  const auto assignments = app::assignments_of(bench.options, app::find_task(app::task_of(named)));
  const app::TaskRecipe recipe(app::settings_of(bench.recipe, assignments));
  std::cout << heading(bench) << std::flush;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  const auto rates = bench::measure_data(recipe, bench.plan, [&](double done) { progress.update(done, bench.recipe); });
  progress.clear();
  std::cout << terminal::text_of(bench::data_table(rates));
  if (!rates.pillow_problem.empty()) std::cout << "\nNo times of Pillow: " << rates.pillow_problem << "\n";
  app::write_json_file(bench.json_path, bench::data_json(rates));
}

}  // namespace

void add_data_bench_command(CLI::App& bench_command) {
  auto* command = bench_command.add_subcommand(
      "data", "How fast a recipe's samples are loaded, by stage, beside decoding alone and Pillow");
  const auto bench = std::make_shared<DataBench>();
  command->add_option("recipe", bench->recipe, "A name that `quest recipes` lists, or a .toml file")
      ->required()
      ->type_name("NAME|FILE");
  app::add_recipe_options(*command, bench->options);
  command->add_option("--threads", bench->plan.threads, "Threads that load, beside one")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--seconds", bench->plan.seconds, "Time of each measurement")
      ->capture_default_str()
      ->check(CLI::Range(0.01, 3600.0));
  command->add_option("--python", bench->plan.python, "Python with Pillow and NumPy")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", bench->json_path, "Write the rates to this file")->type_name("FILE");
  command->callback([bench] { run_data_bench(*bench); });
}

}  // namespace quest::cli
