#pragma once

// The machine a command computes on.

#include <c10/core/Device.h>

#include <CLI/App.hpp>
#include <string>

namespace quest::app {

struct MachineOptions {
  std::string device = "auto";
  int threads = 0;
};

void add_machine_options(CLI::App& command, MachineOptions& options);

// Sets torch's threads, and finds the device; under torchrun, the GPU of this process. Throws UsageError.
[[nodiscard]] at::Device use_machine(const MachineOptions& options);

[[nodiscard]] int default_threads();

// The one whose torch this program was built with.
[[nodiscard]] std::string default_python();

}  // namespace quest::app
