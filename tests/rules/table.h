#pragma once

// A table of cases: a file of JSON in this folder.

#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>

namespace quest::testing {

inline nlohmann::json table(const std::string& name) {
  const std::string path = std::string(RULES_FOLDER) + '/' + name;
  std::ifstream file(path);
  if (!file) throw std::runtime_error("expected a table of cases, found no " + path);
  return nlohmann::json::parse(file);
}

}  // namespace quest::testing
