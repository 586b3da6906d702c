#pragma once

#include <string>
#include <string_view>

#include "quest/formulation.h"

namespace quest::app {

// "standard, quest, ...": for help texts.
[[nodiscard]] std::string formulation_names();

// Throws UsageError that lists the known names.
[[nodiscard]] const Formulation& parse_formulation(std::string_view name);

}  // namespace quest::app
