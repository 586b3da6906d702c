#pragma once

// Small run folders with made-up figures, written and read by the experiment's own code.

#include <filesystem>
#include <string>

#include "domains/toy/toy_read.h"
#include "tests/testing/temporary_folder.h"

namespace quest::report {

using testing::TemporaryFolder;
using testing::text_of;

[[nodiscard]] toy::ToySettings synthetic_settings();

// Of every outcome some; quest succeeds most often, and one training has diverged. All trainings, or that many.
void write_synthetic_run(const std::filesystem::path& folder, std::size_t trainings = 1'000'000,
                         const std::string& program = "quest 1.2.3");

}  // namespace quest::report
