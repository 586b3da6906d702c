#pragma once

// The run folder of the spurious-attention experiment: settings.json says what is trained, results.jsonl holds one line
// per finished training. Lines are only ever added, and are on the disk before add() returns.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "domains/toy/toy.h"

namespace quest::toy {

class ToyFolder {
 public:
  // Creates the folder, or reads what it holds. Throws std::runtime_error, leaving every file as it is, when the folder
  // cannot be written, belongs to a run with other settings, or holds a line that is no result.
  ToyFolder(std::filesystem::path path, const ToySettings& settings, const std::string& program);
  ~ToyFolder();
  ToyFolder(const ToyFolder&) = delete;
  ToyFolder& operator=(const ToyFolder&) = delete;

  void add(std::span<const ToyResult> results);

  // In the order of trainings_of.
  [[nodiscard]] std::vector<ToyResult> results() const;
  [[nodiscard]] std::vector<ToyTraining> unfinished() const;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void claim(const std::string& program) const;

  std::filesystem::path path_;
  ToySettings settings_;
  std::vector<ToyResult> finished_;
  int file_ = -1;
};

[[nodiscard]] nlohmann::ordered_json to_json(const ToySettings& settings);
[[nodiscard]] nlohmann::ordered_json to_json(const ToyResult& result);
// Throws nlohmann's exceptions or std::invalid_argument.
[[nodiscard]] ToyResult result_from_json(const nlohmann::json& line);

}  // namespace quest::toy
