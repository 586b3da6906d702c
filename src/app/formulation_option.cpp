#include "app/formulation_option.h"

#include <stdexcept>

#include "app/usage_error.h"

namespace quest::app {

std::string formulation_names() {
  std::string names;
  for (const auto& formulation : all_formulations()) {
    names += (names.empty() ? "" : ", ") + std::string(formulation.name);
  }
  return names;
}

const Formulation& parse_formulation(std::string_view name) {
  try {
    return formulation_from_name(name);
  } catch (const std::invalid_argument& error) {
    throw UsageError(std::string("--formulation: ") + error.what());
  }
}

}  // namespace quest::app
