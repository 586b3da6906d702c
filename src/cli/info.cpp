// `quest info`: what this machine runs, and which kernel would serve a shape.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <thread>

#include "app/dtype_option.h"
#include "app/formulation_option.h"
#include "app/versions.h"
#include "attention/choice.h"
#include "bench/attention_shape.h"
#include "bench/device_clock.h"
#include "bench/unit_gain.h"
#include "cli/commands.h"
#include "kernels/cpu/attention.h"
#include "kernels/cuda/choice.h"
#include "terminal/table.h"

namespace quest::cli {
namespace {

struct InfoOptions {
  std::string shape = "16,3,197,64";
  std::string device = "cpu";
  std::string dtype = "float32";
  std::string formulation = "quest";
};

void print_line(const std::string& name, const std::string& value) {
  std::cout << terminal::pad(name, 17, base::Align::left) << value << "\n";
}

std::string threads_text() {
  return std::to_string(at::get_num_threads()) + " of " + std::to_string(std::thread::hardware_concurrency()) +
         " processors";
}

// A tensor of any size that occupies one row: nothing is computed with it.
at::Tensor stand_in(std::vector<std::int64_t> sizes, at::ScalarType type) {
  return at::empty({sizes.back()}, type).expand(sizes);
}

PathChoice explain(const bench::AttentionShape& shape, at::ScalarType type, const Formulation& formulation) {
  AttentionOptions options;
  options.formulation = formulation;
  options.gain = bench::unit_gain(formulation, shape);
  options.is_causal = shape.causal;
  options.enable_gqa = shape.kv_heads != shape.heads;
  return explain_path(stand_in({shape.batch, shape.heads, shape.queries, shape.dim}, type),
                      stand_in({shape.batch, shape.kv_heads, shape.keys, shape.dim}, type),
                      stand_in({shape.batch, shape.kv_heads, shape.keys, shape.value_dim}, type), options);
}

std::string work_text(const bench::AttentionShape& shape) {
  return terminal::three_digits(bench::attention_flops(shape, bench::Pass::forward) * 1e-9) + " GFLOP forward, " +
         terminal::three_digits(bench::attention_flops(shape, bench::Pass::forward_backward) * 1e-9) + " with backward";
}

kernels::StorageType storage_type(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return kernels::StorageType::bfloat16;
    case at::kHalf:
      return kernels::StorageType::float16;
    default:
      return kernels::StorageType::float32;
  }
}

kernels::Input dense(std::int64_t heads, std::int64_t rows, std::int64_t dim) {
  return {.data = nullptr, .batch_stride = heads * rows * dim, .head_stride = rows * dim, .row_stride = dim};
}

// The problem of this shape as the CUDA kernels would get it, without memory behind it.
kernels::AttentionProblem gpu_problem(const bench::AttentionShape& shape, at::ScalarType type,
                                      const Formulation& formulation) {
  static constexpr float kSomeGain = 1.0F;
  kernels::AttentionProblem problem;
  problem.batch = shape.batch;
  problem.heads = shape.heads;
  problem.kv_heads = shape.kv_heads;
  problem.queries = problem.longest_queries = shape.queries;
  problem.keys = problem.longest_keys = shape.keys;
  problem.dim = shape.dim;
  problem.value_dim = shape.value_dim;
  problem.type = storage_type(type);
  problem.q = dense(shape.heads, shape.queries, shape.dim);
  problem.k = dense(shape.kv_heads, shape.keys, shape.dim);
  problem.v = dense(shape.kv_heads, shape.keys, shape.value_dim);
  problem.normalize_q = formulation.normalize_q;
  problem.normalize_k = formulation.normalize_k;
  problem.scale = static_cast<float>(formulation.default_scale(shape.dim));
  problem.gain = formulation.gain_axes == GainAxes::none ? nullptr : &kSomeGain;
  problem.causal = shape.causal ? kernels::Causal::top_left : kernels::Causal::none;
  return problem;
}

void print_gpu_choice(const bench::AttentionShape& shape, at::ScalarType type, const Formulation& formulation) {
  constexpr int kHopper = 90;
  const int found = bench::compute_capability();
  const int capability = found > 0 ? found : kHopper;
  if (found == 0) print_line("GPU assumed", "compute capability 9.0 (Hopper)");
  if (type == at::kDouble) {
    print_line("kernel", "plain-formula reference");
    print_line("because", "float64 is computed by the plain formula");
    return;
  }
  const bool takes_float32 = type != at::kFloat && kernels::cuda::takes_float32(shape.dim, shape.value_dim, false);
  if (takes_float32) print_line("computed in", "float32, as PyTorch does for such head dimensions");
  const auto choice =
      kernels::cuda::choose_family(gpu_problem(shape, takes_float32 ? at::kFloat : type, formulation), capability);
  print_line("kernel", std::string(kernels::cuda::name(choice.family)));
  print_line("because", std::string(choice.reason));
}

void print_cpu_choice(const bench::AttentionShape& shape, at::ScalarType type, const Formulation& formulation) {
  const auto choice = explain(shape, type, formulation);
  const bool fused = choice.path == AttentionPath::fused;
  print_line("kernel", fused ? "fused CPU kernel, " + kernels::cpu::instruction_set() : "plain-formula reference");
  print_line("because", std::string(choice.reason));
}

void run_info(const InfoOptions& options) {
  const auto shape = bench::parse_dims(options.shape);
  const auto type = app::parse_dtype(options.dtype);
  const auto& formulation = app::parse_formulation(options.formulation);

  print_line("quest", app::quest_version());
  print_line("torch", app::torch_version());
  print_line("highway", app::highway_version());
  print_line("instruction set", kernels::cpu::instruction_set());
  print_line("threads", threads_text());
  print_line("GPU", bench::gpu_text());
  std::cout << "\n";
  print_line("shape B,H,N,D", bench::dims_text(shape) + ", " + options.dtype + ", " + options.formulation);
  print_line("work", work_text(shape));
  options.device == "cuda" ? print_gpu_choice(shape, type, formulation) : print_cpu_choice(shape, type, formulation);
}

}  // namespace

void add_info_command(CLI::App& program) {
  auto* command =
      program.add_subcommand("info", "Versions, instruction set, threads, GPU, and which kernel serves a shape");
  const auto options = std::make_shared<InfoOptions>();
  command->add_option("--shape", options->shape, "B,H,N,D[,causal][,kv=HK][,nk=NK][,dv=DV]")
      ->type_name("SHAPE")
      ->capture_default_str();
  command->add_option("--device", options->device, "Whose kernels to explain; cuda needs no GPU to be explained")
      ->capture_default_str()
      ->check(CLI::IsMember({"cpu", "cuda"}));
  command->add_option("--dtype", options->dtype, app::kDtypeNames)->capture_default_str();
  command->add_option("--formulation", options->formulation, app::formulation_names())->capture_default_str();
  command->callback([options] { run_info(*options); });
}

}  // namespace quest::cli
