#pragma once

// Remembers what a training said.

#include <string>
#include <vector>

#include "train/run/listener.h"

namespace quest::testing {

class QuietListener final : public train::TrainingListener {
 public:
  void on_step(const train::StepReport& report) override { steps.push_back(report); }
  void on_evaluation(std::int64_t step, double /*epoch*/, const std::map<std::string, double>& metrics,
                     bool is_best) override {
    evaluation_steps.push_back(step);
    evaluations.push_back(metrics);
    best.push_back(is_best);
  }
  void on_message(const std::string& message) override { messages.push_back(message); }
  void on_end(const std::string& ending) override { status = ending; }

  std::vector<train::StepReport> steps;
  std::vector<std::int64_t> evaluation_steps;
  std::vector<std::map<std::string, double>> evaluations;
  std::vector<bool> best;
  std::vector<std::string> messages;
  std::string status;
};

}  // namespace quest::testing
