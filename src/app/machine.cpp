#include "app/machine.h"

#include <torch/cuda.h>
#include <torch/utils.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "app/usage_error.h"

namespace quest::app {

void add_machine_options(CLI::App& command, MachineOptions& options) {
  options.threads = default_threads();
  command.add_option("--device", options.device, "Where to compute; auto: on a GPU where there is one")
      ->capture_default_str()
      ->check(CLI::IsMember({"auto", "cpu", "cuda"}));
  command.add_option("--threads", options.threads, "Threads of the CPU")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

at::Device use_machine(const MachineOptions& options) {
  torch::set_num_threads(options.threads);
  const bool has_gpu = torch::cuda::is_available();
  if (options.device == "cuda" && !has_gpu) {
    throw UsageError(
        "--device cuda: expected a torch with CUDA and a GPU it can use, found none; or run with --device cpu");
  }
  if (options.device == "cpu" || !has_gpu) return at::kCPU;
  const char* local_rank = std::getenv("LOCAL_RANK");
  const int index = local_rank == nullptr ? 0 : std::atoi(local_rank);
  return {at::kCUDA, static_cast<c10::DeviceIndex>(index % static_cast<int>(torch::cuda::device_count()))};
}

int default_threads() { return static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }

std::string default_python() { return QUEST_PYTHON; }

}  // namespace quest::app
