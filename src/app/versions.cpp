#include "app/versions.h"

#include <ATen/Parallel.h>
#include <hwy/highway.h>
#include <torch/version.h>

#include "kernels/cpu/attention.h"

namespace quest::app {

std::string quest_version() { return QUEST_VERSION; }

std::string torch_version() { return TORCH_VERSION; }

std::string highway_version() {
  return std::to_string(HWY_MAJOR) + "." + std::to_string(HWY_MINOR) + "." + std::to_string(HWY_PATCH);
}

std::string setting_line() {
  const int threads = at::get_num_threads();
  return "quest " + quest_version() + ", torch " + torch_version() + ", " + kernels::cpu::instruction_set() + ", " +
         std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

}  // namespace quest::app
