#include "report/json_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <system_error>

namespace quest::report {

std::vector<std::string> read_json_folder(
    const std::filesystem::path& folder, const std::string& expected,
    const std::function<void(const std::string& name, const nlohmann::ordered_json& content)>& take) {
  std::vector<std::filesystem::path> files;
  std::error_code missing;
  for (const auto& entry : std::filesystem::directory_iterator(folder, missing)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<std::string> problems;
  for (const auto& file : files) {
    try {
      std::ifstream stream(file, std::ios::binary);
      take(file.stem().string(), nlohmann::ordered_json::parse(stream));
    } catch (const nlohmann::json::exception& error) {
      problems.push_back("\"" + file.string() + "\" was expected to be " + expected + " and is not: " + error.what());
    } catch (const std::invalid_argument& error) {
      problems.push_back("\"" + file.string() + "\" was expected to be " + expected + " and is not: " + error.what());
    }
  }
  return problems;
}

}  // namespace quest::report
