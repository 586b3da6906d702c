#pragma once

// The contestants of the speed table on one shape: quest::attention, torch's standard attention, torch's QUEST; on a
// GPU torch's two with each of its fast backends.

#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "bench/attention_shape.h"
#include "bench/bench_report.h"
#include "bench/measure.h"
#include "quest/formulation.h"

namespace quest::bench {

struct ContestOptions {
  Formulation formulation = formulations::quest;  // of ours; the rivals are fixed
  at::ScalarType dtype = at::kFloat;
  at::DeviceType device = at::kCPU;
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
  struct Inputs {
    at::Tensor q;
    at::Tensor k;
    at::Tensor v;
    at::Tensor grad_output;
  };
  using Function = std::function<at::Tensor(const Inputs&)>;

  [[nodiscard]] at::Tensor ours(const Inputs& inputs) const;
  [[nodiscard]] at::Tensor torch_version(const Formulation& formulation, const Inputs& inputs) const;
  [[nodiscard]] Contestant contestant(const Function& attention, Pass pass) const;
  [[nodiscard]] BenchRow measure_on_cpu(Pass pass, const MeasurePlan& plan,
                                        const std::function<void(double)>& on_progress) const;
  [[nodiscard]] BenchRow measure_on_gpu(Pass pass, const MeasurePlan& plan,
                                        const std::function<void(double)>& on_progress) const;

  AttentionShape shape_;
  ContestOptions options_;
  at::Tensor gain_;
  std::vector<Inputs> sets_;  // several on a GPU, so that no input waits in its cache
};

}  // namespace quest::bench
