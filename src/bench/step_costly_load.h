#pragma once

// A task as it is, but that loading a batch costs more, and that nothing is loaded while its turn is over.

#include <memory>

#include "bench/step_gate.h"
#include "train/engine/task.h"

namespace quest::bench {

class CostlyLoad final : public train::Task {
 public:
  // Each call of load() takes so many seconds of a processor more.
  CostlyLoad(std::unique_ptr<train::Task> task, double seconds) : task_(std::move(task)), seconds_(seconds) {}

  // Closed at first. Loads that have begun end before it is closed.
  [[nodiscard]] Gate& gate() { return gate_; }

  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    const Gate::Passage passage(gate_);
    spend_processor_time(seconds_);
    return task_->load(draw);
  }

  [[nodiscard]] torch::nn::Module& model() override { return task_->model(); }
  [[nodiscard]] std::int64_t train_size() const override { return task_->train_size(); }
  [[nodiscard]] double forward_flops() const override { return task_->forward_flops(); }
  [[nodiscard]] std::unique_ptr<data::Stream> stream(const data::StreamOptions& options) const override {
    return task_->stream(options);
  }
  [[nodiscard]] train::Losses loss(const data::Batch& batch, const train::Moment& moment) override {
    return task_->loss(batch, moment);
  }
  [[nodiscard]] std::vector<std::string> splits() const override { return task_->splits(); }
  void evaluate(const train::Split& split, metrics::Metrics& metrics) override { task_->evaluate(split, metrics); }
  [[nodiscard]] train::Selection selection() const override { return task_->selection(); }
  void after_update(const train::Moment& moment) override { task_->after_update(moment); }
  [[nodiscard]] train::ParameterRules rules() const override { return task_->rules(); }
  [[nodiscard]] train::NamedTensors state() override { return task_->state(); }

 private:
  std::unique_ptr<train::Task> task_;
  double seconds_;
  mutable Gate gate_;
};

}  // namespace quest::bench
