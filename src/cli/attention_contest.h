#pragma once

// The three contestants of the speed table on one shape: quest::attention, torch's standard attention, torch's QUEST.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "cli/attention_shape.h"
#include "cli/bench_report.h"
#include "cli/measure.h"
#include "quest/formulation.h"

namespace quest::cli {

struct ContestOptions {
  Formulation formulation = formulations::quest;  // of ours; the rivals are fixed
  at::ScalarType dtype = at::kFloat;
};

class AttentionContest {
 public:
  AttentionContest(const AttentionShape& shape, const ContestOptions& options);

  // Throws std::runtime_error when ours and torch's version of the same formula disagree in output or gradients:
  // the speed of a wrong answer is not reported.
  void check_agreement() const;

  [[nodiscard]] BenchRow measure(Pass pass, const MeasurePlan& plan,
                                 const std::function<void(double)>& on_progress) const;

 private:
  using Function = std::function<at::Tensor()>;

  [[nodiscard]] at::Tensor ours() const;
  [[nodiscard]] at::Tensor torch_version(const Formulation& formulation) const;
  [[nodiscard]] Contestant contestant(Function attention, Pass pass) const;
  [[nodiscard]] std::vector<at::Tensor> output_and_gradients(const Function& attention) const;

  AttentionShape shape_;
  ContestOptions options_;
  at::Tensor q_;
  at::Tensor k_;
  at::Tensor v_;
  at::Tensor gain_;
  at::Tensor grad_output_;
};

}  // namespace quest::cli
