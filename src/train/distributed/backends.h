#pragma once

// The backends of c10d that this build has. The others throw and say what is missing.

#include <chrono>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "train/distributed/launch_environment.h"

namespace quest::train {

struct BackendPlace {
  c10::intrusive_ptr<c10d::Store> store;
  LaunchEnvironment launch;
  std::chrono::milliseconds timeout;
};

c10::intrusive_ptr<c10d::Backend> gloo_backend(const BackendPlace& place);
c10::intrusive_ptr<c10d::Backend> nccl_backend(const BackendPlace& place);

}  // namespace quest::train
