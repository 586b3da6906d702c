#pragma once

// Update rules of optimisers over ranges of float32 buffers, in place. Every count is a multiple of kOptimizerUnit, so
// that a range is whole vectors on every instruction set; what fills a buffer up must be zeros, which stay zeros.

#include <cstdint>

namespace quest::kernels::cpu {

inline constexpr std::int64_t kOptimizerUnit = 16;

// One step of the Adam family on an element with gradient g' = g + l2 · p:
//   m += (1 - beta1) (g' - m);   v += (1 - beta2) (g'² - v)
//   u = m / (root_scale · √v + eps), or m itself where not adaptive
//   p -= step_size · u + decay · p
struct AdamStep {
  double beta1;
  double beta2;
  double l2;
  double step_size;
  double root_scale;
  double eps;
  double decay;
  bool adaptive;
};

struct AdamRange {
  float* value;
  const float* gradient;
  float* first_moment;
  float* second_moment;
};

void adam(const AdamStep& step, const AdamRange& range, std::int64_t count);

// LAMB needs two norms between the two halves of a step. The first half updates the moments and returns sums of squares
// of the parameters and of u + weight_decay · p; the second moves the parameters.
struct SquareSums {
  double value;
  double update;
};
SquareSums adam_moments(const AdamStep& step, double weight_decay, const AdamRange& range, std::int64_t count);
void adam_move(const AdamStep& step, const AdamRange& range, std::int64_t count);

// b = momentum · b + g', with g' = g + l2 · p;   p -= lr · (nesterov ? g' + momentum · b : b)
struct SgdStep {
  double lr;
  double momentum;
  double l2;
  bool nesterov;
};

void sgd(const SgdStep& step, float* value, const float* gradient, float* buffer, std::int64_t count);

double sum_of_squares(const float* values, std::int64_t count);

}  // namespace quest::kernels::cpu
