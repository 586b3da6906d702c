#pragma once

// Samples of the spurious-attention task. Every token has a real part and a class; the label is the class at the answer
// position. The real part of an answer is drawn from Normal(0, S Sᵀ), or, in a biased sample, from Normal(b, 0.1 I);
// that of any other token from Normal(0, I).

#include <cstdint>
#include <vector>

#include "domains/toy/engine/model.h"

namespace quest::toy::engine {

struct TaskData {
  int tokens = 0;
  int samples = 0;
  std::vector<float> real;            // [samples][tokens][kRealDims]
  std::vector<std::uint8_t> classes;  // [samples][tokens]
  std::vector<int> answer;            // [samples], a position
  std::vector<std::uint8_t> biased;   // [samples], 0 or 1

  [[nodiscard]] int label(int sample) const { return classes[sample * tokens + answer[sample]]; }
};

struct TaskSizes {
  int tokens = 20;
  int training_samples = 2000;
  int test_samples = 1000;
};

struct Realization {
  TaskData training;
  TaskData test;  // no biased samples
};

[[nodiscard]] Realization draw_realization(const TaskSizes& sizes, std::uint64_t seed, std::uint64_t realization);

// The training samples in the order of one epoch.
[[nodiscard]] std::vector<int> batch_order(int samples, std::uint64_t seed, std::uint64_t realization,
                                           std::uint64_t epoch);

}  // namespace quest::toy::engine
