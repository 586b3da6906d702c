#pragma once

// What a run says while it goes on: metrics.jsonl, stats.jsonl and TensorBoard events, and crash.json when it diverged.
// A line is written whole. What is not finite is written as null.

#include <cstdint>
#include <deque>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/line_file.h"
#include "train/run/event_file.h"
#include "train/run/layer_record.h"
#include "train/run/listener.h"
#include "train/run/run_folder.h"

namespace quest::train {

inline constexpr const char* kTrainKind = "train";  // the kinds of lines in metrics.jsonl
inline constexpr const char* kEvaluationKind = "eval";

// A line of kind train, which keeps neither the length of the training nor the rate of operations.
[[nodiscard]] nlohmann::ordered_json to_json(const StepReport& report);
// Throws nlohmann's exceptions.
[[nodiscard]] StepReport step_report_from_json(const nlohmann::ordered_json& line);

class RunLog {
 public:
  // How far back a crash is explained.
  static constexpr std::int64_t kRememberedSteps = 200;

  // Goes on after the given step: later lines, and one that a killed process left half-written, are dropped. 0 starts
  // anew.
  RunLog(const RunFolder& folder, std::int64_t after_step);

  // Every step is remembered; log_it says whether it is also worth a line.
  void add_step(const StepReport& report, bool log_it);
  void add_evaluation(std::int64_t step, double epoch, const std::map<std::string, double>& metrics);
  void add_layer(const LayerRecord& record);

  // Of the last 200 steps, the oldest first; also those of before a resume.
  [[nodiscard]] const std::deque<LayerRecord>& recent_layers() const { return layers_; }

  void write_crash(std::int64_t iteration, const std::string& reason) const;

 private:
  void forget_before(std::int64_t step);

  std::filesystem::path folder_;
  base::LineFile metrics_;
  base::LineFile stats_;
  EventFile events_;
  std::deque<StepReport> steps_;
  std::deque<LayerRecord> layers_;
};

}  // namespace quest::train
