// `quest bench step`: a recipe's training step by the engine, beside the bare work and a PyTorch loop; of tasks that
// pack many small runs into one program, runs per second.

#include <CLI/App.hpp>
#include <algorithm>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "app/json_file.h"
#include "app/machine.h"
#include "app/train_options.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "bench/step_contest.h"
#include "bench/step_packed.h"
#include "cli/commands.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"

namespace quest::cli {
namespace {

constexpr double kNoisySpread = 0.2;

struct StepBench {
  std::string recipe;
  app::RecipeOptions options;
  app::MachineOptions machine{.device = "cpu", .threads = 2};
  std::vector<std::string> formulations;
  bench::StepPlan plan{.python = app::default_python()};
  std::string json_path;
};

constexpr const char* kFormulationKey = "model.formulation";

// An empty one leaves it as the recipe has it.
std::vector<recipe::Setting> settings_with(const StepBench& bench, const std::string& formulation) {
  const auto named = app::settings_of(bench.recipe, bench.options.assignments);
  auto assignments = app::assignments_of(bench.options, app::find_task(app::task_of(named)));
  if (!formulation.empty()) assignments.push_back(std::string(kFormulationKey) + "=" + formulation);
  return app::settings_of(bench.recipe, assignments);
}

// A model without attention is measured as it is.
std::vector<std::string> default_formulations(const app::TaskRecipe& recipe) {
  const auto keys = recipe.fields().entries();
  const bool has_attention = std::ranges::find(keys, kFormulationKey, &recipe::Fields::Entry::key) != keys.end();
  return has_attention ? std::vector<std::string>{"quest", "standard"} : std::vector<std::string>{""};
}

const std::string& row_name(const StepBench& bench, const std::string& formulation) {
  return formulation.empty() ? bench.recipe : formulation;
}

// Empty, or what to think of the times.
std::string noise_warning(const std::vector<bench::StepTimes>& rows) {
  const double widest = std::ranges::max(rows, {}, &bench::StepTimes::relative_spread).relative_spread;
  if (widest <= kNoisySpread) return "";
  return "\nOther work disturbed the measurement: half of the turns of one row differ by more than " +
         terminal::fixed(100.0 * widest, 0) + " % of their median.\n";
}

template <typename Row>
std::string missing_python(const std::vector<Row>& rows) {
  const auto without = std::ranges::find_if(rows, [](const Row& row) { return !row.python; });
  return without == rows.end()
             ? ""
             : "\nNo time of a PyTorch loop for " + without->formulation + ": " + without->python_problem + "\n";
}

std::string heading(const StepBench& bench) {
  const auto& plan = bench.plan;
  std::string text =
      app::setting_line() + "; recipe " + bench.recipe + ", device " + plan.device.str() +
      ". Milliseconds of a training step, medians of " + std::to_string(plan.rounds) + " turns of " +
      std::to_string(plan.steps) +
      " steps.\nengine: everything `quest train` does in a step, with a log line each time, batches loaded "
      "in between, and the\nmonitor as often as the recipe says (measured at every step and at none); "
      "bare: forward, backward, clipping\nand the optimiser on one batch; optimiser: its share of that, "
      "clipping included; Python: the same model,\nbatch size, clipping and optimiser in a PyTorch loop.\n";
  if (plan.workers > 0) text += "Beside it the engine with threads that load batches ahead.\n";
  if (plan.load_cost > 0.0) {
    text += "Loading takes longer, by " + terminal::three_digits(plan.load_cost) +
            " times the processor time that the bare work takes: this is no speed of the recipe.\n";
  }
  return text + "\n";
}

void run_steps(const StepBench& bench) {
  std::cout << heading(bench) << std::flush;
  std::vector<bench::StepTimes> rows;
  for (const auto& formulation : bench.formulations) {
    const app::TaskRecipe recipe(settings_with(bench, formulation));
    terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
    const auto& name = row_name(bench, formulation);
    rows.push_back(bench::measure_steps(recipe, bench.plan, [&](double done) { progress.update(done, name); }));
    rows.back().formulation = name;
    progress.clear();
  }
  std::cout << terminal::text_of(bench::step_table(rows, bench.plan.workers)) << missing_python(rows)
            << noise_warning(rows);
  app::write_json_file(bench.json_path, bench::step_json(rows, bench.plan.workers));
}

// Copies of one run: what a run costs does not depend on its numbers.
std::vector<std::unique_ptr<app::TaskRecipe>> copies(const StepBench& bench, const std::string& formulation) {
  std::vector<std::unique_ptr<app::TaskRecipe>> runs;
  runs.push_back(std::make_unique<app::TaskRecipe>(settings_with(bench, formulation)));
  const auto count = runs.front()->entry().packed()->runs_at_once(bench.machine.threads);
  while (runs.size() < count) runs.push_back(std::make_unique<app::TaskRecipe>(settings_with(bench, formulation)));
  return runs;
}

void run_packed(const StepBench& bench) {
  std::cout << app::setting_line() << "; recipe " << bench.recipe << ", device " << bench.machine.device
            << ". Runs per second, from their start to their results.\nPython: a PyTorch loop in a process per thread; "
            << "s/core: seconds of one processor for a run.\n\n"
            << std::flush;
  std::vector<bench::PackedRate> rates;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  for (const auto& formulation : bench.formulations) {
    progress.update(static_cast<double>(rates.size()) / static_cast<double>(bench.formulations.size()), formulation);
    rates.push_back(bench::measure_packed(
        copies(bench, formulation),
        {.device = bench.machine.device, .threads = bench.machine.threads, .python = bench.plan.python}));
    rates.back().formulation = formulation;
  }
  progress.clear();
  std::cout << terminal::text_of(bench::packed_table(rates, bench.machine.threads)) << missing_python(rates);
  app::write_json_file(bench.json_path, bench::packed_json(rates));
}

void run_step_bench(StepBench bench) {
  app::require_writable(bench.json_path);
  bench.plan.device = app::use_machine(bench.machine);
  bench.plan.threads = bench.machine.threads;
  const app::TaskRecipe recipe(settings_with(bench, ""));
  if (bench.formulations.empty()) bench.formulations = default_formulations(recipe);
  if (!recipe.is_packed()) return run_steps(bench);
  if (bench.plan.workers > 0 || bench.plan.load_cost > 0.0) {
    throw app::UsageError("--workers and --load-cost: the runs of this task load no batches; leave them out");
  }
  run_packed(bench);
}

}  // namespace

void add_step_bench_command(CLI::App& bench_command) {
  auto* command = bench_command.add_subcommand(
      "step", "A recipe's training step by the engine, beside the bare work and a PyTorch loop");
  const auto bench = std::make_shared<StepBench>();
  command->add_option("recipe", bench->recipe, "A name that `quest recipes` lists, or a .toml file")
      ->required()
      ->type_name("NAME|FILE");
  app::add_recipe_options(*command, bench->options);
  command
      ->add_option("--formulations", bench->formulations,
                   "Which attention to train with; by default quest and standard")
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_option("--device", bench->machine.device, "Where to compute")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--threads", bench->machine.threads, "Threads of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--steps", bench->plan.steps, "Steps of a turn")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--rounds", bench->plan.rounds, "Turns of each")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--workers", bench->plan.workers, "Also measure the engine with so many threads that load ahead")
      ->check(CLI::Range(1, 1024));
  command
      ->add_option("--load-cost", bench->plan.load_cost,
                   "Make loading longer, by so many times the bare work of a step: what loading ahead is worth")
      ->check(CLI::Range(0.0, 1000.0))
      ->type_name("RATIO");
  command->add_option("--python", bench->plan.python, "Python with torch that runs the loop")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", bench->json_path, "Write the times to this file")->type_name("FILE");
  command->callback([bench] { run_step_bench(*bench); });
}

}  // namespace quest::cli
