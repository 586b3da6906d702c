// `quest bench toy`: trainings per second of the sweep engine beside a LibTorch loop of the same training.

#include <torch/torch.h>

#include <CLI/App.hpp>
#include <atomic>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "cli/commands.h"
#include "cli/measure.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "cli/terminal.h"
#include "cli/toy_options.h"
#include "cli/usage_error.h"
#include "cli/versions.h"
#include "experiments/toy_run.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/sweep/lane_models.h"
#include "kernels/sweep/parameters.h"
#include "tests/testing/toy_reference.h"

namespace quest::cli {
namespace {

using experiments::ToySettings;

struct ToyBench {
  ToyOptions options;
  double seconds = 5.0;
  std::string json_path;
};

struct ToySpeed {
  std::string formulation;
  double ours = 0.0;  // trainings per second
  double torch = 0.0;
};

// A full vector per thread, from the first epoch to the last record.
double engine_speed(ToySettings settings, int threads) {
  settings.learning_rates = {0.0025};
  settings.weight_decays = {0.02};
  settings.realizations = threads;
  settings.initializations = kernels::cpu::model_lanes();
  const auto trainings = experiments::trainings_of(settings);
  const double start = steady_seconds();
  experiments::run_trainings(settings, trainings, threads,
                             {.on_finished = [](const auto&) {}, .should_stop = [] { return false; }});
  return static_cast<double>(trainings.size()) / (steady_seconds() - start);
}

// Steps of one training in a loop until told to stop; no evaluation and no records, which the engine's time includes.
std::int64_t torch_steps(const ToySettings& settings, const std::atomic<bool>& stop) {
  namespace sweep = kernels::sweep;
  at::set_num_threads(1);
  const auto model = experiments::toy_model(formulation_from_name(settings.formulations.front()), settings.wiring,
                                            settings.sizes.tokens);
  const auto data =
      testing::tensors_of(sweep::draw_realization(settings.sizes, settings.seed, 0).training, torch::kFloat32);
  const testing::ToyReference reference(model, sweep::initial_parameters(model.tokens, settings.seed, 0),
                                        torch::kFloat32);
  torch::optim::AdamW optimizer(reference.parameters(), torch::optim::AdamWOptions(0.0025).weight_decay(0.02));
  std::int64_t steps = 0;
  while (!stop) {
    const auto order = torch::randperm(settings.sizes.training_samples);
    for (const auto& batch : order.split(settings.batch)) {
      if (stop) break;
      optimizer.zero_grad();
      const auto logits = reference.logits(data.inputs.index_select(0, batch));
      torch::nn::functional::cross_entropy(logits, data.labels.index_select(0, batch)).backward();
      optimizer.step();
      ++steps;
    }
  }
  return steps;
}

// As many loops as threads, each on one thread of its own.
double torch_speed(const ToySettings& settings, int threads, double seconds) {
  std::atomic<bool> stop = false;
  std::atomic<std::int64_t> steps = 0;
  const double start = steady_seconds();
  {
    std::vector<std::jthread> loops;
    loops.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) loops.emplace_back([&] { steps += torch_steps(settings, stop); });
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    stop = true;
  }
  const int batches = (settings.sizes.training_samples + settings.batch - 1) / settings.batch;
  return static_cast<double>(steps) / (static_cast<double>(batches) * settings.epochs) / (steady_seconds() - start);
}

std::string bench_table_of(const std::vector<ToySpeed>& speeds, int threads) {
  Table table(
      {{"formulation", Align::left}, {"ours per s"}, {"torch per s"}, {"ours s/core"}, {"torch s/core"}, {"ratio"}});
  for (const auto& speed : speeds) {
    table.add_row({speed.formulation, three_digits(speed.ours), three_digits(speed.torch),
                   three_digits(threads / speed.ours), three_digits(threads / speed.torch),
                   fixed(speed.ours / speed.torch, 0) + "x"});
  }
  return table.render(TableStyle::text);
}

void write_json(const std::string& path, const std::vector<ToySpeed>& speeds) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& speed : speeds) {
    array.push_back(
        {{"formulation", speed.formulation}, {"ours_per_second", speed.ours}, {"torch_per_second", speed.torch}});
  }
  std::ofstream file(path, std::ios::trunc);
  file << array.dump(2) << "\n" << std::flush;
  if (!file) throw std::runtime_error("writing \"" + path + "\" failed; is the folder there and the disk not full?");
}

void run_toy_bench(const ToyBench& bench) {
  const auto settings = resolved_settings(bench.options);
  const int threads = bench.options.threads;
  std::cout << "quest " << quest_version() << ", torch " << torch_version() << ", " << kernels::cpu::instruction_set()
            << ", " << threads << (threads == 1 ? " thread" : " threads") << "; wiring "
            << experiments::wiring_name(settings.wiring) << ", " << settings.sizes.training_samples << " samples, "
            << settings.epochs << " epochs\n"
            << "torch: one LibTorch loop per thread, steps of " << fixed(bench.seconds, 0)
            << " seconds extrapolated to a training, without evaluation\n\n"
            << std::flush;
  std::vector<ToySpeed> speeds;
  Progress progress(std::cerr, standard_error_is_terminal());
  for (const auto& formulation : settings.formulations) {
    auto one = settings;
    one.formulations = {formulation};
    progress.update(static_cast<double>(speeds.size()) / static_cast<double>(settings.formulations.size()),
                    formulation);
    speeds.push_back({formulation, engine_speed(one, threads), torch_speed(one, threads, bench.seconds)});
  }
  progress.clear();
  std::cout << bench_table_of(speeds, threads);
  if (!bench.json_path.empty()) write_json(bench.json_path, speeds);
}

}  // namespace

void add_toy_bench_command(CLI::App& program) {
  auto* command = program.get_subcommand("bench")->add_subcommand(
      "toy", "Trainings per second of the spurious-attention experiment beside a LibTorch loop");
  const auto bench = std::make_shared<ToyBench>();
  command->add_option("--formulations", bench->options.settings.formulations, "Which attention to train with")
      ->capture_default_str()
      ->delimiter(',')
      ->type_name("NAME,...");
  add_toy_model_options(*command, bench->options);
  command->add_option("--seconds", bench->seconds, "Time for each LibTorch measurement")
      ->capture_default_str()
      ->check(CLI::Range(0.1, 3600.0));
  command->add_option("--json", bench->json_path, "Write the rates to this file")->type_name("FILE");
  command->callback([bench] { run_toy_bench(*bench); });
}

}  // namespace quest::cli
