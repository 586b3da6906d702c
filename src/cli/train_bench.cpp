// `quest bench train`: the engine's training step beside the same work without the engine and beside a Python loop.

#include <torch/torch.h>

#include <CLI/App.hpp>
#include <algorithm>
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
#include "domains/images/image_loop.h"
#include "app/train_options.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "quest/models/vit.h"
#include "train/optim/clipping.h"
#include "train/engine/engine.h"
#include "train/optim/optimizer.h"
#include "train/optim/parameter_groups.h"

namespace quest::cli {
namespace {

struct TrainBench {
  app::RecipeOptions recipe{.task = "image", .recipe = "fashion-mnist-tiny"};
  app::MachineOptions machine{.device = "cpu", .threads = 2};
  std::vector<std::string> formulations = {"quest", "standard"};
  std::string python = app::default_python();
  int steps = 10;   // at a time
  int rounds = 15;  // taken in turns
  std::string json_path;
};

// Milliseconds of one step, medians.
struct StepTimes {
  double engine = 0.0;
  double bare = 0.0;
  double python = 0.0;
  double watched = 0.0;  // steps that the monitor looks at
  double unwatched = 0.0;
  double update = 0.0;  // clipping and the optimiser, of the bare step

  [[nodiscard]] double overhead() const { return engine / bare - 1.0; }
  [[nodiscard]] double monitor_cost(std::int64_t every) const {
    return (watched / unwatched - 1.0) / static_cast<double>(every);
  }
};

std::string python_settings(const app::TaskRecipe& recipe, int threads) {
  nlohmann::json settings = {{"threads", threads},
                             {"image_size", 28},
                             {"classes", 10},
                             {"batch", recipe.recipe().train.batch_size},
                             {"clip_norm", recipe.recipe().optimizer.clip_norm}};
  for (const auto& entry : recipe.fields().entries()) {
    if (entry.key == "model.formulation") settings["quest"] = entry.value == "\"quest\"";
    if (entry.key.starts_with("model.")) settings[entry.key.substr(6)] = nlohmann::json::parse(entry.value);
  }
  return settings.dump();
}

// Forward, backward, clipping and the optimiser's arithmetic on one batch, and nothing else.
class BareSteps {
 public:
  BareSteps(models::ViTImpl& model, const train::Recipe& recipe)
      : model_(model),
        clip_norm_(recipe.optimizer.clip_norm),
        parameters_(train::parameter_groups(model, {.weight_decay = recipe.optimizer.weight_decay})),
        optimizer_(parameters_, recipe.optimizer),
        images_(torch::randn({recipe.train.batch_size, 1, model.options.image_size(), model.options.image_size()})),
        labels_(torch::randint(model.options.classes(), {recipe.train.batch_size})) {}

  double run(int count) {
    const double begin = base::steady_seconds();
    for (int i = 0; i < count; ++i) {
      parameters_.zero_gradients();
      torch::nn::functional::cross_entropy(model_.forward(images_), labels_).backward();
      const double update_began = base::steady_seconds();
      (void)train::clip_gradients(parameters_, clip_norm_);
      optimizer_.step(1e-4);
      updates_.push_back(base::steady_seconds() - update_began);
    }
    return base::steady_seconds() - begin;
  }

  // Of clipping and the optimiser, each time.
  [[nodiscard]] const std::vector<double>& update_seconds() const { return updates_; }

 private:
  models::ViTImpl& model_;
  double clip_norm_;
  train::FlatParameters parameters_;
  train::Optimizer optimizer_;
  at::Tensor images_;
  at::Tensor labels_;
  std::vector<double> updates_;
};

// Lets the others have their turn whenever the engine has taken some steps.
class Turns final : public train::TrainingListener {
 public:
  Turns(const TrainBench& bench, std::int64_t monitor_every, BareSteps& bare, bench::PythonClock& python, terminal::Progress& progress)
      : bench_(bench), monitor_every_(monitor_every), bare_(bare), python_(python), progress_(progress) {}

  void on_step(const train::StepReport& report) override {
    const double seconds = base::steady_seconds() - step_began_;
    const bool is_warm = report.step > bench_.steps;
    if (is_warm) (report.step % monitor_every_ == 0 ? watched_ : unwatched_).push_back(seconds);
    turn_ += seconds;
    if (report.step % bench_.steps == 0) end_turn(is_warm);
    step_began_ = base::steady_seconds();
  }

  [[nodiscard]] bool is_over() const { return static_cast<int>(engine_.size()) >= bench_.rounds; }
  [[nodiscard]] StepTimes times() const {
    const auto milliseconds = [](const std::vector<double>& seconds) { return 1e3 * bench::quantile(seconds, 0.5); };
    return {.engine = milliseconds(engine_) / bench_.steps,
            .bare = milliseconds(bare_times_) / bench_.steps,
            .python = milliseconds(python_times_) / bench_.steps,
            .watched = milliseconds(watched_),
            .unwatched = milliseconds(unwatched_),
            .update = milliseconds(bare_.update_seconds())};
  }

 private:
  void end_turn(bool is_warm) {
    const double bare = bare_.run(bench_.steps);
    const double python = python_.seconds(bench_.steps);
    if (is_warm) {
      engine_.push_back(turn_);
      bare_times_.push_back(bare);
      python_times_.push_back(python);
    }
    progress_.update(static_cast<double>(engine_.size()) / bench_.rounds, "taking turns");
    turn_ = 0.0;
  }

  const TrainBench& bench_;
  std::int64_t monitor_every_;
  BareSteps& bare_;
  bench::PythonClock& python_;
  terminal::Progress& progress_;
  double step_began_ = base::steady_seconds();
  double turn_ = 0.0;
  std::vector<double> engine_;
  std::vector<double> bare_times_;
  std::vector<double> python_times_;
  std::vector<double> watched_;
  std::vector<double> unwatched_;
};

constexpr std::int64_t kMonitorEvery = 10;

StepTimes measure(const TrainBench& bench, const std::string& formulation, terminal::Progress& progress) {
  auto assignments = bench.recipe.assignments;
  assignments.insert(assignments.end(), {"model.formulation=" + formulation, "train.epochs=1000",
                                         "train.eval_every=1000", "train.checkpoint_every=0", "train.log_every=1",
                                         "train.monitor_every=" + std::to_string(kMonitorEvery)});
  const app::TaskRecipe recipe(app::find_task(bench.recipe.task), app::settings_of(bench.recipe.recipe, assignments));
  const auto device = app::use_machine(bench.machine);
  const auto task = recipe.factory().make(recipe.recipe(), device);
  const auto twin = recipe.factory().make(recipe.recipe(), device);
  auto* model = dynamic_cast<models::ViTImpl*>(&twin->model());
  if (model == nullptr) throw app::UsageError("quest bench train measures the task image; got " + bench.recipe.task);
  BareSteps bare(*model, recipe.recipe());
  bench::PythonClock python(bench.python, images::kImageLoop, python_settings(recipe, bench.machine.threads));
  Turns turns(bench, kMonitorEvery, bare, python, progress);
  const base::ScratchFolder scratch("quest-bench-train");
  train::RunFolder folder(scratch / "run");
  const auto processes = train::communicator_from_environment(device);
  (void)train::train(
      *task, recipe.recipe(),
      {.processes = *processes, .listener = turns, .folder = &folder, .should_stop = [&] { return turns.is_over(); }});
  return turns.times();
}

void run_train_bench(const TrainBench& bench) {
  app::require_writable(bench.json_path);
  std::cout << "quest " << app::quest_version() << ", torch " << app::torch_version() << ", " << bench.machine.threads
            << " threads; recipe " << bench.recipe.recipe << ". Milliseconds of a training step, medians of "
            << bench.rounds << " turns of " << bench.steps << " steps.\n"
            << "engine: everything `quest train` does, batches, monitor (every " << kMonitorEvery
            << "th step) and log included;\nbare: forward, backward, clipping and the optimiser's arithmetic alone; "
            << "Python: the same model,\nbatch, clipping and optimiser in a PyTorch loop; optimiser: its share, and "
            << "clipping's, of the bare step.\n\n"
            << std::flush;
  terminal::Table table({{"formulation", terminal::Align::left},
               {"engine ms"},
               {"bare ms"},
               {"overhead"},
               {"of it monitor"},
               {"optimiser"},
               {"Python ms"},
               {"vs Python"}});
  auto json = nlohmann::ordered_json::array();
  for (const auto& formulation : bench.formulations) {
    terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
    const auto times = measure(bench, formulation, progress);
    progress.clear();
    const auto percent = [](double share) { return terminal::fixed(100 * share, 1) + " %"; };
    table.add_row({formulation, terminal::three_digits(times.engine), terminal::three_digits(times.bare), percent(times.overhead()),
                   percent(times.monitor_cost(kMonitorEvery)), percent(times.update / times.bare),
                   terminal::three_digits(times.python), terminal::fixed(times.python / times.engine, 2) + "x"});
    json.push_back({{"formulation", formulation},
                    {"engine_ms", times.engine},
                    {"bare_ms", times.bare},
                    {"monitor_share", times.monitor_cost(kMonitorEvery)},
                    {"optimiser_share", times.update / times.bare},
                    {"python_ms", times.python}});
  }
  std::cout << table.render(terminal::TableStyle::text);
  app::write_json_file(bench.json_path, json.dump(2) + "\n");
}

}  // namespace

void add_train_bench_command(CLI::App& program) {
  auto* command = program.get_subcommand("bench")->add_subcommand(
      "train", "A training step of the engine beside the bare work and a Python loop");
  const auto bench = std::make_shared<TrainBench>();
  command->add_option("--recipe", bench->recipe.recipe, "Recipe of the task image")->capture_default_str();
  command->add_option("--set", bench->recipe.assignments, "KEY=VALUE, over what the recipe says");
  command->add_option("--formulations", bench->formulations, "Which attention to train with")
      ->capture_default_str()
      ->delimiter(',');
  command->add_option("--steps", bench->steps, "Steps of a turn")->capture_default_str()->check(CLI::Range(1, 10000));
  command->add_option("--rounds", bench->rounds, "Turns")->capture_default_str()->check(CLI::Range(1, 10000));
  command->add_option("--threads", bench->machine.threads, "Threads of each")->capture_default_str();
  command->add_option("--python", bench->python, "Python with torch that runs the loop")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", bench->json_path, "Write the times to this file")->type_name("FILE");
  command->callback([bench] { run_train_bench(*bench); });
}

}  // namespace quest::cli
