#pragma once

#include <string>

namespace quest::app {

[[nodiscard]] std::string quest_version();
[[nodiscard]] std::string torch_version();
[[nodiscard]] std::string highway_version();

// "quest 0.1.0, torch 2.13.0, AVX3, 2 threads": what a measurement must be read with.
[[nodiscard]] std::string setting_line();

}  // namespace quest::app
