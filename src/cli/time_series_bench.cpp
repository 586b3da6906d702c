// `quest bench timeseries`: trainings of the time-series experiment beside a plain PyTorch loop, one at a time and as a
// sweep over seeds.

#include <torch/torch.h>

#include <CLI/App.hpp>
#include <fstream>
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
#include "base/scratch_folder.h"
#include "terminal/table.h"
#include "app/task_recipe.h"
#include "terminal/terminal.h"
#include "domains/timeseries/time_series_loop.h"
#include "cli/time_series_sweep.h"
#include "app/train_options.h"
#include "app/versions.h"
#include "data/sets/time_series.h"
#include "data/sets/uea_locator.h"
#include "domains/timeseries/time_series_task.h"
#include "train/engine/engine.h"

namespace quest::cli {
namespace {

constexpr const char* kTask = "timeseries";

struct TimeSeriesBench {
  std::string data = "JapaneseVowels";
  std::vector<std::string> formulations = {"quest", "standard"};
  std::string python = app::default_python();
  int threads = 2;
  int rounds = 7;
  int seeds = 10;
  int epochs = 10;  // of each training of the sweep
  std::string json_path;
};

struct Seconds {
  double engine_epoch = 0.0;
  double python_epoch = 0.0;
  double sweep = 0.0;         // all seeds of ours
  double python_sweep = 0.0;  // as many trainings, one after another
};

std::string write_raw(const std::filesystem::path& file, const at::Tensor& tensor) {
  const auto values = tensor.contiguous();
  std::ofstream(file, std::ios::binary)
      .write(static_cast<const char*>(values.const_data_ptr()), static_cast<std::streamsize>(values.nbytes()));
  return file.string();
}

nlohmann::json python_part(const data::TimeSeriesPart& part, const std::filesystem::path& prefix) {
  return {{"shape", part.values.sizes().vec()},
          {"values", write_raw(prefix.string() + "-values", part.values)},
          {"labels", write_raw(prefix.string() + "-labels", part.labels)}};
}

// What the Python loop is told: the recipe's model and optimiser, and the same data.
nlohmann::json python_settings(const TimeSeriesBench& bench, const base::ScratchFolder& scratch) {
  const auto series = data::load_time_series(data::require_time_series({.name = bench.data}));
  const app::TaskRecipe recipe(app::find_task(kTask), app::settings_of(kTask, {}));
  nlohmann::json settings = {{"threads", bench.threads},
                             {"classes", series.classes.size()},
                             {"batch", recipe.recipe().train.batch_size},
                             {"evaluation_batch", timeseries::kEvaluationBatch},
                             {"lr", recipe.recipe().optimizer.lr},
                             {"clip_norm", recipe.recipe().optimizer.clip_norm},
                             {"train", python_part(series.train, scratch / "train")},
                             {"test", python_part(series.test, scratch / "test")}};
  for (const auto& entry : recipe.fields().entries()) {
    if (entry.key.starts_with("model.")) settings[entry.key.substr(6)] = nlohmann::json::parse(entry.value);
  }
  return settings;
}

// Lets Python train an epoch whenever the engine has trained and evaluated one.
class EpochTurns final : public train::TrainingListener {
 public:
  EpochTurns(int rounds, bench::PythonClock& python, terminal::Progress& progress)
      : rounds_(rounds), python_(python), progress_(progress) {}

  void on_evaluation(std::int64_t /*step*/, double epoch, const std::map<std::string, double>& /*metrics*/,
                     bool /*is_best*/) override {
    const double engine = base::steady_seconds() - began_;
    const double python = python_.seconds(1);
    if (epoch > 1.5) {  // the first one warms up
      engine_.push_back(engine);
      python_times_.push_back(python);
    }
    progress_.update(static_cast<double>(engine_.size()) / rounds_, "taking turns");
    began_ = base::steady_seconds();
  }

  [[nodiscard]] bool is_over() const { return static_cast<int>(engine_.size()) >= rounds_; }
  [[nodiscard]] double engine() const { return bench::quantile(engine_, 0.5); }
  [[nodiscard]] double python() const { return bench::quantile(python_times_, 0.5); }

 private:
  int rounds_;
  bench::PythonClock& python_;
  terminal::Progress& progress_;
  double began_ = base::steady_seconds();
  std::vector<double> engine_;
  std::vector<double> python_times_;
};

void measure_epochs(const TimeSeriesBench& bench, const std::string& formulation, bench::PythonClock& python,
                    const std::filesystem::path& run, Seconds& seconds) {
  const std::vector<std::string> assignments = {"data.name=" + bench.data, "model.formulation=" + formulation,
                                                "train.epochs=1000", "train.patience=0", "train.monitor_every=0"};
  const app::TaskRecipe recipe(app::find_task(kTask), app::settings_of(kTask, assignments));
  const auto device = app::use_machine({.device = "cpu", .threads = bench.threads});
  const auto task = recipe.factory().make(recipe.recipe(), device);
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  EpochTurns turns(bench.rounds, python, progress);
  train::RunFolder folder(run);
  const auto processes = train::communicator_from_environment(device);
  (void)train::train(
      *task, recipe.recipe(),
      {.processes = *processes, .listener = turns, .folder = &folder, .should_stop = [&] { return turns.is_over(); }});
  progress.clear();
  seconds.engine_epoch = turns.engine();
  seconds.python_epoch = turns.python();
}

// Python trains once before the sweep and once after it, and the mean stands for all.
void measure_sweep(const TimeSeriesBench& bench, const std::string& formulation, bench::PythonClock& python,
                   const std::filesystem::path& runs, Seconds& seconds) {
  const double before = python.seconds(bench.epochs);
  const double began = base::steady_seconds();
  const auto failed =
      train_time_series({.data_sets = {bench.data},
                         .formulations = {formulation},
                         .protocols = {"paper"},
                         .seeds = static_cast<std::uint64_t>(bench.seeds),
                         .assignments = {"train.epochs=" + std::to_string(bench.epochs), "train.patience=0"},
                         .device = "cpu",
                         .jobs = bench.threads,
                         .folder = runs});
  seconds.sweep = base::steady_seconds() - began;
  if (failed > 0) throw std::runtime_error(std::to_string(failed) + " trainings of the sweep failed");
  seconds.python_sweep = 0.5 * (before + python.seconds(bench.epochs)) * bench.seeds;
}

Seconds measure(const TimeSeriesBench& bench, const std::string& formulation) {
  const base::ScratchFolder scratch("quest-bench-timeseries");
  auto settings = python_settings(bench, scratch);
  settings["formulation"] = formulation;
  bench::PythonClock python(bench.python, kTimeSeriesLoop, settings.dump());
  Seconds seconds;
  measure_epochs(bench, formulation, python, scratch / "one", seconds);
  measure_sweep(bench, formulation, python, scratch / "sweep", seconds);
  return seconds;
}

void fetch_if_missing(const std::string& data_set) {
  const app::TaskRecipe recipe(app::find_task(kTask), app::settings_of(kTask, std::vector{"data.name=" + data_set}));
  app::fetch_data(recipe.factory(), *train::communicator_from_environment(at::kCPU));
}

void run_time_series_bench(const TimeSeriesBench& bench) {
  app::require_writable(bench.json_path);
  fetch_if_missing(bench.data);
  std::cout << "quest " << app::quest_version() << ", torch " << app::torch_version() << ", " << bench.threads << " threads; "
            << bench.data << ".\nepoch: training and evaluation, medians of " << bench.rounds
            << " taken in turns, all threads on one training.\nsweep: trainings per hour of " << bench.seeds
            << " seeds, " << bench.epochs << " epochs each; ours " << bench.threads
            << " at a time on one thread each,\nstarting the program included; Python one after another on all "
            << "threads, without its start.\n\n"
            << std::flush;
  terminal::Table table({{"formulation", terminal::Align::left},
               {"epoch s"},
               {"Python s"},
               {"ratio"},
               {"sweep per hour"},
               {"Python per hour"},
               {"ratio"}});
  auto json = nlohmann::ordered_json::array();
  for (const auto& formulation : bench.formulations) {
    const auto seconds = measure(bench, formulation);
    const auto per_hour = [&](double sweep) { return 3600.0 * bench.seeds / sweep; };
    table.add_row({formulation, terminal::three_digits(seconds.engine_epoch), terminal::three_digits(seconds.python_epoch),
                   terminal::fixed(seconds.python_epoch / seconds.engine_epoch, 2) + "x", terminal::three_digits(per_hour(seconds.sweep)),
                   terminal::three_digits(per_hour(seconds.python_sweep)), terminal::fixed(seconds.python_sweep / seconds.sweep, 2) + "x"});
    json.push_back({{"formulation", formulation},
                    {"engine_epoch_s", seconds.engine_epoch},
                    {"python_epoch_s", seconds.python_epoch},
                    {"sweep_per_hour", per_hour(seconds.sweep)},
                    {"python_per_hour", per_hour(seconds.python_sweep)}});
  }
  std::cout << table.render(terminal::TableStyle::text);
  app::write_json_file(bench.json_path, json.dump(2) + "\n");
}

}  // namespace

void add_time_series_bench_command(CLI::App& program) {
  auto* command = program.get_subcommand("bench")->add_subcommand(
      "timeseries", "Trainings on a data set of the UEA archive beside a Python loop, alone and as a sweep");
  const auto bench = std::make_shared<TimeSeriesBench>();
  command->add_option("--data", bench->data, "Data set")->capture_default_str()->type_name("NAME");
  command->add_option("--formulations", bench->formulations, "quest, standard or both")
      ->capture_default_str()
      ->delimiter(',')
      ->check(CLI::IsMember({"quest", "standard"}));
  command->add_option("--threads", bench->threads, "Threads")->capture_default_str()->check(CLI::Range(1, 1024));
  command->add_option("--rounds", bench->rounds, "Epochs of each, in turns")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--seeds", bench->seeds, "Trainings of the sweep")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--epochs", bench->epochs, "Epochs of each training of the sweep")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--python", bench->python, "Python with torch that runs the loop")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", bench->json_path, "Write the times to this file")->type_name("FILE");
  command->callback([bench] { run_time_series_bench(*bench); });
}

}  // namespace quest::cli
