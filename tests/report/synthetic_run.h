#pragma once

// Small run folders with made-up figures, written and read by the experiment's own code.

#include <filesystem>
#include <string>

#include "experiments/toy_read.h"

namespace quest::report {

// A folder below the system's temporary one that disappears with this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] experiments::ToySettings synthetic_settings();

// Of every outcome some; quest succeeds most often, and one training has diverged. All trainings, or that many.
void write_synthetic_run(const std::filesystem::path& folder, std::size_t trainings = 1'000'000,
                         const std::string& program = "quest 1.2.3");

[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace quest::report
