#pragma once

// What a training tells whoever watches it: a terminal, a benchmark, a test. Each hears what it asks for. Torch-free.

#include <cstdint>
#include <map>
#include <string>

namespace quest::train {

struct StepReport {
  std::int64_t step = 0;  // finished steps, so the last report has step == total_steps
  std::int64_t total_steps = 0;
  double epoch = 0.0;
  double loss = 0.0;
  std::map<std::string, double> parts{};  // of the loss, where it has named ones
  double lr = 0.0;
  double grad_norm = 0.0;
  double samples_per_second = 0.0;  // over all processes
  double flop_per_second = 0.0;     // of the model, over all processes, forward and backward; 0: not known
};

class TrainingListener {
 public:
  virtual ~TrainingListener() = default;

  virtual void on_step(const StepReport& /*report*/) {}
  virtual void on_evaluation(std::int64_t /*step*/, double /*epoch*/, const std::map<std::string, double>& /*metrics*/,
                             bool /*is_best*/) {}
  virtual void on_message(const std::string& /*message*/) {}  // warnings and news, one line each
  virtual void on_end(const std::string& /*status*/) {}       // the status of run.json
};

}  // namespace quest::train
