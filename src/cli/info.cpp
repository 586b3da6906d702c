// `quest info`: what this machine runs, and which kernel would serve a shape.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/cuda.h>

#include <CLI/App.hpp>
#include <iostream>
#include <memory>
#include <thread>

#include "attention/choice.h"
#include "cli/attention_shape.h"
#include "cli/commands.h"
#include "cli/dtype_option.h"
#include "cli/formulation_option.h"
#include "cli/table.h"
#include "cli/unit_gain.h"
#include "cli/versions.h"
#include "kernels/cpu/attention.h"

namespace quest::cli {
namespace {

struct InfoOptions {
  std::string shape = "16,3,197,64";
  std::string dtype = "float32";
  std::string formulation = "quest";
};

void print_line(const std::string& name, const std::string& value) {
  std::cout << pad(name, 17, Align::left) << value << "\n";
}

std::string gpu_text() {
  if (!torch::cuda::is_available()) return "none that torch can use";
  const auto count = torch::cuda::device_count();
  return std::to_string(count) + (count == 1 ? " CUDA device" : " CUDA devices");
}

std::string threads_text() {
  return std::to_string(at::get_num_threads()) + " of " + std::to_string(std::thread::hardware_concurrency()) +
         " processors";
}

// A tensor of any size that occupies one row: nothing is computed with it.
at::Tensor stand_in(std::vector<std::int64_t> sizes, at::ScalarType type) {
  return at::empty({sizes.back()}, type).expand(sizes);
}

PathChoice explain(const AttentionShape& shape, at::ScalarType type, const Formulation& formulation) {
  AttentionOptions options;
  options.formulation = formulation;
  options.gain = unit_gain(formulation, shape);
  options.is_causal = shape.causal;
  options.enable_gqa = shape.kv_heads != shape.heads;
  return explain_path(stand_in({shape.batch, shape.heads, shape.queries, shape.dim}, type),
                      stand_in({shape.batch, shape.kv_heads, shape.keys, shape.dim}, type),
                      stand_in({shape.batch, shape.kv_heads, shape.keys, shape.value_dim}, type), options);
}

std::string work_text(const AttentionShape& shape) {
  return three_digits(attention_flops(shape, Pass::forward) * 1e-9) + " GFLOP forward, " +
         three_digits(attention_flops(shape, Pass::forward_backward) * 1e-9) + " with backward";
}

void run_info(const InfoOptions& options) {
  const auto shape = parse_dims(options.shape);
  const auto type = parse_dtype(options.dtype);
  const auto& formulation = parse_formulation(options.formulation);
  const auto choice = explain(shape, type, formulation);
  const bool fused = choice.path == AttentionPath::fused;

  print_line("quest", quest_version());
  print_line("torch", torch_version());
  print_line("highway", highway_version());
  print_line("instruction set", kernels::cpu::instruction_set());
  print_line("threads", threads_text());
  print_line("GPU", gpu_text());
  std::cout << "\n";
  print_line("shape B,H,N,D", dims_text(shape) + ", " + options.dtype + ", " + options.formulation);
  print_line("work", work_text(shape));
  print_line("kernel", fused ? "fused CPU kernel, " + kernels::cpu::instruction_set() : "plain-formula reference");
  print_line("because", std::string(choice.reason));
}

}  // namespace

void add_info_command(CLI::App& program) {
  auto* command =
      program.add_subcommand("info", "Versions, instruction set, threads, GPU, and which kernel serves a shape");
  const auto options = std::make_shared<InfoOptions>();
  command->add_option("--shape", options->shape, "B,H,N,D[,causal][,kv=HK][,nk=NK][,dv=DV]")
      ->type_name("SHAPE")
      ->capture_default_str();
  command->add_option("--dtype", options->dtype, kDtypeNames)->capture_default_str();
  command->add_option("--formulation", options->formulation, formulation_names())->capture_default_str();
  command->callback([options] { run_info(*options); });
}

}  // namespace quest::cli
