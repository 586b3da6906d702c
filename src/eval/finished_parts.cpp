#include "eval/finished_parts.h"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

namespace quest::eval {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

// JSON has no numbers that are not finite, and a part must come back as it was.
Json json_of(double value) { return std::isfinite(value) ? Json(value) : Json(std::to_string(value)); }

double number_of(const Json& value) {
  return value.is_string() ? std::strtod(value.get<std::string>().c_str(), nullptr) : value.get<double>();
}

std::pair<std::int64_t, FinishedParts::Numbers> part_of(const Json& line, const fs::path& file) {
  try {
    FinishedParts::Numbers numbers;
    for (const auto& value : line.at("numbers")) numbers.push_back(number_of(value));
    return {line.at("part").get<std::int64_t>(), std::move(numbers)};
  } catch (const Json::exception& error) {
    throw std::runtime_error("\"" + file.string() + "\": expected lines with \"part\" and \"numbers\", got " +
                             line.dump().substr(0, 60) + " (" + error.what() + "). Remove the file to begin anew.");
  }
}

std::vector<fs::path> files_of(const fs::path& folder, const std::string& name) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const auto file = entry.path().filename().string();
    if (file.starts_with(name + ".") && file.ends_with(".jsonl")) files.push_back(entry.path());
  }
  return files;
}

}  // namespace

FinishedParts::FinishedParts(const fs::path& folder, const std::string& name, int rank) {
  if (folder.empty()) return;
  fs::create_directories(folder);
  for (const auto& file : files_of(folder, name)) {
    for (const auto& line : base::read_lines(file)) parts_.insert(part_of(line, file));
  }
  const auto own = folder / (name + "." + std::to_string(rank) + ".jsonl");
  file_.emplace(own, base::read_lines(own));
}

const FinishedParts::Numbers* FinishedParts::find(std::int64_t part) const {
  const auto found = parts_.find(part);
  return found == parts_.end() ? nullptr : &found->second;
}

void FinishedParts::add(std::int64_t part, Numbers numbers) {
  if (file_) {
    Json values = Json::array();
    for (const double number : numbers) values.push_back(json_of(number));
    file_->append({{"part", part}, {"numbers", std::move(values)}});
  }
  parts_[part] = std::move(numbers);
}

}  // namespace quest::eval
