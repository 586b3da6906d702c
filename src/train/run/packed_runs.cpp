#include "train/run/packed_runs.h"

#include <fstream>
#include <set>
#include <stdexcept>

#include "base/json_number.h"

namespace quest::train {
namespace {

using Json = nlohmann::ordered_json;

const Json& member(const Json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end()) throw std::invalid_argument(std::string("expected \"") + key + "\", and it is missing");
  return *found;
}

const Json& object(const Json& line, const char* key) {
  const Json& value = member(line, key);
  if (!value.is_object()) {
    throw std::invalid_argument(std::string("\"") + key + "\": expected an object, got " + value.dump());
  }
  return value;
}

// Throws std::invalid_argument that says what was expected and what was given.
PackedRunLine run_of(const std::string& text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) throw std::invalid_argument("expected a JSON object, got \"" + text.substr(0, 40) + "\"");
  PackedRunLine run;
  for (const auto& [key, value] : object(line, "settings").items()) {
    if (!value.is_string()) throw std::invalid_argument("settings: " + key + ": expected a text, got " + value.dump());
    run.settings[key] = value.get<std::string>();
  }
  const Json& status = member(line, "status");
  if (!status.is_string()) throw std::invalid_argument("\"status\": expected a text, got " + status.dump());
  run.result.status = status.get<std::string>();
  for (const auto& [key, value] : object(line, "metrics").items()) {
    if (!value.is_number() && !value.is_null()) {
      throw std::invalid_argument("metrics: " + key + ": expected a number or null, got " + value.dump());
    }
    run.result.metrics[key] = base::number_or_nan(value);
  }
  if (line.contains("series")) run.result.series = object(line, "series");
  return run;
}

Json to_json(const PackedRunLine& run) {
  return {{"settings", run.settings},
          {"status", run.result.status},
          {"metrics", run.result.metrics},
          {"series", run.result.series}};
}

}  // namespace

PackedRunLines read_packed_runs(const std::filesystem::path& folder) {
  const auto file = folder / kPackedRunsFile;
  PackedRunLines lines;
  std::set<std::map<std::string, std::string>> known;
  std::ifstream stream(file, std::ios::binary);
  std::string text;
  for (int number = 1; std::getline(stream, text); ++number) {
    try {
      if (stream.eof())
        throw std::invalid_argument("expected an end of the line: its process was killed while it wrote");
      auto run = run_of(text);
      if (!known.insert(run.settings).second) {
        throw std::invalid_argument("expected other settings than those of every line before");
      }
      lines.runs.push_back(std::move(run));
    } catch (const std::invalid_argument& error) {
      lines.problems.push_back("\"" + file.string() + "\", line " + std::to_string(number) + ": " + error.what());
    }
  }
  return lines;
}

PackedRunFile::PackedRunFile(const std::filesystem::path& folder)
    : file_(folder / kPackedRunsFile, base::read_lines(folder / kPackedRunsFile)) {}

void PackedRunFile::add(std::span<const PackedRunLine> runs) {
  for (const auto& run : runs) file_.append(to_json(run));
}

}  // namespace quest::train
