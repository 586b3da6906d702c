// `quest bench attention`: ours beside torch's standard attention and torch's QUEST.

#include <ATen/Parallel.h>

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "app/dtype_option.h"
#include "app/formulation_option.h"
#include "app/json_file.h"
#include "app/machine.h"
#include "app/usage_error.h"
#include "app/versions.h"
#include "bench/attention_contest.h"
#include "bench/bench_report.h"
#include "bench/compiled_loop.h"
#include "bench/device_clock.h"
#include "bench/python_clock.h"
#include "cli/commands.h"
#include "terminal/progress.h"
#include "terminal/terminal.h"

namespace quest::cli {
namespace {

struct BenchOptions {
  std::vector<std::string> added_shapes;
  std::vector<std::string> only;
  bool odd = false;
  std::string device = "cpu";
  std::string dtype;  // empty: what the device is trained with
  std::string formulation = "quest";
  int threads = 2;
  bench::MeasurePlan plan;
  std::string python = app::default_python();
  std::string json_path;
  bool markdown = false;
};

std::vector<bench::AttentionShape> requested_shapes(const BenchOptions& options) {
  auto shapes = options.device == "cuda" ? bench::gpu_shapes() : bench::model_shapes();
  if (options.odd) std::ranges::copy(bench::odd_shapes(), std::back_inserter(shapes));
  for (const auto& text : options.added_shapes) {
    auto shape = bench::parse_named_shape(text);
    if (std::ranges::find(shapes, shape.name, &bench::AttentionShape::name) != shapes.end()) {
      throw app::UsageError("--shape: there is already a shape called \"" + shape.name + "\"; choose another name");
    }
    shapes.push_back(std::move(shape));
  }
  return bench::select_shapes(shapes, options.only);
}

std::vector<bench::BenchRow> measure_all(const std::vector<bench::AttentionShape>& shapes,
                                         const bench::ContestOptions& contest_options, const bench::MeasurePlan& plan) {
  static constexpr std::array<bench::Pass, 2> kPasses = {bench::Pass::forward, bench::Pass::forward_backward};
  const double steps = static_cast<double>(shapes.size() * kPasses.size());
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  std::vector<bench::BenchRow> rows;
  for (const auto& shape : shapes) {
    const bench::AttentionContest contest(shape, contest_options);
    contest.check_agreement();
    for (const bench::Pass pass : kPasses) {
      const std::string label = shape.name + " " + std::string(bench::pass_name(pass));
      const auto on_progress = [&](double part) {
        progress.update((static_cast<double>(rows.size()) + part) / steps, label);
      };
      rows.push_back(contest.measure(pass, plan, on_progress));
    }
  }
  return rows;
}

std::string compiled_settings(const std::vector<bench::AttentionShape>& shapes, const std::string& dtype) {
  nlohmann::json list = nlohmann::json::array();
  for (const auto& shape : shapes) {
    list.push_back({{"q", {shape.batch, shape.heads, shape.queries, shape.dim}},
                    {"k", {shape.batch, shape.kv_heads, shape.keys, shape.dim}},
                    {"v", {shape.batch, shape.kv_heads, shape.keys, shape.value_dim}},
                    {"causal", shape.causal}});
  }
  return nlohmann::json({{"dtype", dtype}, {"shapes", list}}).dump();
}

// torch.compile needs Python: a process of its own measures it when ours is done.
void add_compiled_times(std::vector<bench::BenchRow>& rows, const std::vector<bench::AttentionShape>& shapes,
                        const std::string& dtype, const std::string& python) {
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  try {
    bench::PythonClock clock(python, bench::kCompiledLoop, compiled_settings(shapes, dtype));
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].compiled_quest_ms = 1e3 * clock.seconds(static_cast<int>(i));
      progress.update(static_cast<double>(i + 1) / static_cast<double>(rows.size()), "torch.compile");
    }
  } catch (const std::runtime_error& error) {
    progress.clear();
    std::cerr << "No times under torch.compile: " << error.what() << "\n";
  }
}

void run_attention_bench(const BenchOptions& options) {
  const bool on_gpu = options.device == "cuda";
  const auto shapes = requested_shapes(options);
  const std::string dtype = !options.dtype.empty() ? options.dtype : on_gpu ? "bfloat16" : "float32";
  const bench::ContestOptions contest_options{.formulation = app::parse_formulation(options.formulation),
                                              .dtype = app::parse_dtype(dtype),
                                              .device = on_gpu ? at::kCUDA : at::kCPU};
  if (on_gpu) bench::require_gpu();
  app::require_writable(options.json_path);
  at::set_num_threads(options.threads);

  auto rows = measure_all(shapes, contest_options, options.plan);
  if (on_gpu) add_compiled_times(rows, shapes, dtype, options.python);
  const auto style = options.markdown ? terminal::TableStyle::markdown : terminal::TableStyle::text;
  std::cout << (on_gpu ? "quest " + app::quest_version() + ", torch " + app::torch_version() + ", " + bench::gpu_text()
                       : app::setting_line())
            << ", " << dtype << ", formulation " << options.formulation << "; milliseconds and "
            << (on_gpu ? "TFLOP/s" : "GFLOP/s") << " are medians of at least " << options.plan.least_repetitions
            << " interleaved samples\n\n";
  if (on_gpu) {
    const auto element_bytes = static_cast<double>(c10::elementSize(contest_options.dtype));
    std::cout << bench::gpu_bench_table(rows, element_bytes, bench::ceilings_of(bench::gpu_text()), style);
  } else {
    std::cout << bench::bench_table(rows, style);
  }
  if (const auto warning = bench::noise_warning(rows); !warning.empty()) std::cerr << "\n" << warning << "\n";
  app::write_json_file(options.json_path, bench::bench_json(rows));
}

}  // namespace

void add_bench_command(CLI::App& program) {
  auto* bench = program.add_subcommand("bench", "Measure speed side by side with torch");
  expect_subcommand(*bench);
  add_step_bench_command(*bench);
  add_data_bench_command(*bench);
  auto* command = bench->add_subcommand(
      "attention", "quest::attention beside torch's standard attention and torch's QUEST (normalize + attention)");
  const auto options = std::make_shared<BenchOptions>();
  command->add_option("--shape", options->added_shapes, "Add a shape: NAME=B,H,N,D[,causal][,kv=HK][,nk=NK][,dv=DV]")
      ->allow_extra_args(false)
      ->type_name("SHAPE");
  command->add_option("--only", options->only, "Measure only these shapes, by name")
      ->allow_extra_args(false)
      ->delimiter(',')
      ->type_name("NAME,...");
  command->add_flag("--odd", options->odd, "Add the shapes that fit no vector, tile or block");
  command->add_option("--device", options->device, "Where to measure; on a GPU with torch's flash and cuDNN backends")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--dtype", options->dtype,
                      std::string(app::kDtypeNames) + "; if not given float32, on a GPU bfloat16");
  command
      ->add_option("--formulation", options->formulation,
                   "What ours computes: " + app::formulation_names() + "; the rivals stay")
      ->capture_default_str();
  command->add_option("--threads", options->threads, "Threads for everyone")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
  command->add_option("--repetitions", options->plan.least_repetitions, "Fewest samples behind a median")
      ->capture_default_str()
      ->check(CLI::Range(1, 10000));
  command->add_option("--seconds", options->plan.budget_seconds, "Time per row after which no more samples are added")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 3600.0));
  command->add_option("--python", options->python, "Python with torch that measures torch.compile, on a GPU")
      ->capture_default_str()
      ->type_name("PATH");
  command->add_option("--json", options->json_path, "Write the times to this file")->type_name("FILE");
  command->add_flag("--markdown", options->markdown, "Print the table as Markdown");
  command->callback([options] { run_attention_bench(*options); });
}

}  // namespace quest::cli
