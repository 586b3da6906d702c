#pragma once

// A block of the GPU's sweep engine on the CPU: the threads of a phase one after the other.

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <vector>

#include "domains/toy/engine/cuda/network.h"
#include "domains/toy/engine/task_data.h"

namespace quest::testing {

enum class ThreadOrder { ascending, descending };

class BlockOnHost {
 public:
  explicit BlockOnHost(ThreadOrder order) : order_(order), registers_(toy::engine::cuda::kThreads) {}

  template <typename Phase>
  void phase(const Phase& body) {
    for (int i = 0; i < toy::engine::cuda::kThreads; ++i) {
      const int thread = order_ == ThreadOrder::ascending ? i : toy::engine::cuda::kThreads - 1 - i;
      body(thread, registers_[static_cast<std::size_t>(thread)]);
    }
  }

 private:
  ThreadOrder order_;
  std::vector<toy::engine::cuda::Registers> registers_;
};

// A model with the memory of its block and its moments.
class ModelOnHost {
 public:
  ModelOnHost(const toy::engine::Model& model, std::span<const float> parameters, ThreadOrder order)
      : bytes_(toy::engine::cuda::ModelMemory::bytes(model.tokens) / sizeof(toy::engine::cuda::Quad) + 1),
        memory_(model, reinterpret_cast<unsigned char*>(bytes_.data())),
        first_moment_(parameters.size()),
        second_moment_(parameters.size()),
        block_(order) {
    std::ranges::copy(parameters, memory_.weights);
    toy::engine::cuda::clear_totals(block_);
  }

  void batch_gradient(const toy::engine::TaskData& data, std::span<const int> which) {
    toy::engine::cuda::batch_gradient(memory_, samples_of(data), which.data(), static_cast<int>(which.size()), block_);
  }

  void adamw_step(float learning_rate, float weight_decay) {
    toy::engine::cuda::adamw_step(memory_, {learning_rate, weight_decay, first_moment_.data(), second_moment_.data()},
                                  toy::engine::cuda::StepFactors(++steps_), block_);
  }

  void evaluate(const toy::engine::TaskData& data) {
    const auto all = first_samples(data.samples);
    toy::engine::cuda::evaluate(memory_, samples_of(data), all.data(), data.samples, block_);
  }

  void probe(const toy::engine::TaskData& data, int count) {
    const auto all = first_samples(count);
    toy::engine::cuda::probe(memory_, samples_of(data), all.data(), count, block_);
  }

  [[nodiscard]] std::span<const float> weights() const { return {memory_.weights, first_moment_.size()}; }
  [[nodiscard]] std::span<const float> gradient() const { return {memory_.gradient, first_moment_.size()}; }
  [[nodiscard]] float query_norm() const { return memory_.fixed->query_norm; }
  // Of what was done since they were last asked for.
  [[nodiscard]] toy::engine::cuda::Totals totals() {
    toy::engine::cuda::Totals totals;
    toy::engine::cuda::gather_totals(memory_, block_, &totals);
    toy::engine::cuda::clear_totals(block_);
    return totals;
  }

 private:
  static toy::engine::cuda::Samples samples_of(const toy::engine::TaskData& data) {
    return {data.real.data(), data.classes.data(), data.answer.data(), data.biased.data()};
  }
  static std::vector<int> first_samples(int count) {
    std::vector<int> samples(static_cast<std::size_t>(count));
    std::iota(samples.begin(), samples.end(), 0);
    return samples;
  }

  std::vector<toy::engine::cuda::Quad> bytes_;
  toy::engine::cuda::ModelMemory memory_;
  std::vector<float> first_moment_;
  std::vector<float> second_moment_;
  int steps_ = 0;
  BlockOnHost block_;
};

}  // namespace quest::testing
