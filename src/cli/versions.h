#pragma once

#include <string>

namespace quest::cli {

[[nodiscard]] std::string quest_version();
[[nodiscard]] std::string torch_version();
[[nodiscard]] std::string highway_version();

// "quest 0.1.0, torch 2.13.0, AVX3, 2 threads": what a measurement must be read with.
[[nodiscard]] std::string setting_line();
// The same for a measurement on the GPU.
[[nodiscard]] std::string gpu_setting_line();

}  // namespace quest::cli
