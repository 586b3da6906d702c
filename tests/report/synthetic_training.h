#pragma once

// Folders of training runs with made-up figures, written by the engine's own log.

#include <cstdint>
#include <filesystem>

namespace quest::report {

struct SyntheticTraining {
  std::int64_t steps = 600;
  std::int64_t layers = 3;
  std::int64_t heads = 4;
  bool crashes = false;  // layer 1 head 2 grows from step 400 on, and the loss is NaN at the end
};

void write_synthetic_training(const std::filesystem::path& folder, const SyntheticTraining& training = {});

}  // namespace quest::report
