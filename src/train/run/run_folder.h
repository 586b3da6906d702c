#pragma once

// The folder of a training run: where everything lies, run.json, and a lock that keeps a second process out.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace quest::train {

inline constexpr const char* kRunFile = "run.json";
inline constexpr const char* kRecipeFile = "recipe.toml";
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kStatsFile = "stats.jsonl";
inline constexpr const char* kCrashFile = "crash.json";
inline constexpr const char* kLockFile = "run.lock";
inline constexpr const char* kCheckpointFolder = "checkpoints";
inline constexpr const char* kLastWeights = "checkpoints/last.safetensors";
inline constexpr const char* kBestWeights = "checkpoints/best.safetensors";
inline constexpr const char* kResumeCheckpoint = "checkpoints/resume.safetensors";

// "2026-01-31T23:59:59Z"
[[nodiscard]] std::string utc_now();

// What run.json says, for whoever only looks. Throws std::runtime_error that names the file and what to do.
[[nodiscard]] nlohmann::ordered_json read_run_file(const std::filesystem::path& folder);

class RunFolder {
 public:
  // Creates the folder and its checkpoints/ where they are missing, and locks it until this object is gone; a process
  // that is killed leaves no lock behind. What was created is gone with this object where no run began. Throws
  // std::runtime_error that names the folder, the reason and what to do.
  explicit RunFolder(std::filesystem::path path);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::filesystem::path operator/(const char* name) const { return path_ / name; }

  // Whether a run has been started here.
  [[nodiscard]] bool holds_run() const;
  [[nodiscard]] bool can_resume() const;

  // Sets these keys of run.json and keeps the others.
  void update(const nlohmann::ordered_json& changes) const;

  // Throws, before anything is trained, when the disk has no room for that much more.
  void check_room(std::uintmax_t bytes) const;

 private:
  void lock();

  std::filesystem::path path_;
  std::vector<std::filesystem::path> created_;  // the outermost first
  int lock_ = -1;
};

}  // namespace quest::train
