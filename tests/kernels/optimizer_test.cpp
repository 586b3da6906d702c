// Update rules against the same rules in double, element by element.

#include "kernels/cpu/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/kernels/instruction_sets.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

using kernels::cpu::AdamStep;
using kernels::cpu::kOptimizerUnit;
using kernels::cpu::SgdStep;

constexpr std::int64_t kCount = 5 * kOptimizerUnit;
// One step rounds each number it stores once, and the sums under it a few times.
constexpr Bound kFewRoundings{.of_largest = 4e-7, .of_value = 4e-7};

std::vector<float> random_floats(unsigned seed, double low, double high) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> draw(static_cast<float>(low), static_cast<float>(high));
  std::vector<float> values(kCount);
  for (float& value : values) value = draw(generator);
  return values;
}

std::vector<double> in_double(const std::vector<float>& values) { return {values.begin(), values.end()}; }

struct AdamBuffers {
  std::vector<float> value = random_floats(1, -1, 1);
  std::vector<float> gradient = random_floats(2, -1, 1);
  std::vector<float> first = random_floats(3, -1, 1);
  std::vector<float> second = random_floats(4, 0, 1);

  kernels::cpu::AdamRange range() { return {value.data(), gradient.data(), first.data(), second.data()}; }
};

struct AdamExpectation {
  std::vector<double> value, first, second;
  double value_squares = 0;
  double update_squares = 0;
};

AdamExpectation plain_adam(const AdamStep& step, double weight_decay) {
  const AdamBuffers b;
  AdamExpectation result;
  for (std::size_t i = 0; i < kCount; ++i) {
    const double p = b.value[i];
    const double g = b.gradient[i] + step.l2 * p;
    const double m = step.beta1 * b.first[i] + (1 - step.beta1) * g;
    const double v = step.beta2 * b.second[i] + (1 - step.beta2) * g * g;
    const double u = step.adaptive ? m / (step.root_scale * std::sqrt(v) + step.eps) : m;
    result.value.push_back(p - step.step_size * u - step.decay * p);
    result.first.push_back(m);
    result.second.push_back(v);
    result.value_squares += p * p;
    result.update_squares += (u + weight_decay * p) * (u + weight_decay * p);
  }
  return result;
}

void expect_adam(const AdamBuffers& actual, const AdamExpectation& expected) {
  EXPECT_TRUE(all_close(in_double(actual.value), expected.value, kFewRoundings, {kCount}));
  EXPECT_TRUE(all_close(in_double(actual.first), expected.first, kFewRoundings, {kCount}));
  EXPECT_TRUE(all_close(in_double(actual.second), expected.second, kFewRoundings, {kCount}));
}

constexpr AdamStep kAdaptive{.beta1 = 0.9,
                             .beta2 = 0.98,
                             .l2 = 0.1,
                             .step_size = 0.03,
                             .root_scale = 1.7,
                             .eps = 1e-3,
                             .decay = 0.02,
                             .adaptive = true};
constexpr AdamStep kPlain{.beta1 = 0.9,
                          .beta2 = 0.98,
                          .l2 = 0.1,
                          .step_size = 0.03,
                          .root_scale = 1.7,
                          .eps = 1e-3,
                          .decay = 0.02,
                          .adaptive = false};

TEST(OptimizerKernels, AdamFollowsItsRule) {
  for_each_instruction_set([] {
    for (const AdamStep& step : {kAdaptive, kPlain}) {
      AdamBuffers buffers;
      kernels::cpu::adam(step, buffers.range(), kCount);
      expect_adam(buffers, plain_adam(step, 0));
    }
  });
}

TEST(OptimizerKernels, AdamInTwoHalvesMeasuresBothNorms) {
  for_each_instruction_set([] {
    AdamBuffers buffers;
    const auto sums = kernels::cpu::adam_moments(kAdaptive, 0.3, buffers.range(), kCount);
    const AdamExpectation expected = plain_adam(kAdaptive, 0.3);
    EXPECT_NEAR(sums.value / expected.value_squares, 1, 1e-12);
    EXPECT_NEAR(sums.update / expected.update_squares, 1, 1e-6);
    kernels::cpu::adam_move(kAdaptive, buffers.range(), kCount);
    expect_adam(buffers, expected);
  });
}

TEST(OptimizerKernels, SgdFollowsItsRule) {
  for_each_instruction_set([] {
    for (const bool nesterov : {false, true}) {
      const SgdStep step{.lr = 0.1, .momentum = 0.9, .l2 = 0.05, .nesterov = nesterov};
      AdamBuffers buffers;
      std::vector<double> value;
      std::vector<double> momentum;
      for (std::size_t i = 0; i < kCount; ++i) {
        const double g = buffers.gradient[i] + step.l2 * buffers.value[i];
        momentum.push_back(step.momentum * buffers.first[i] + g);
        value.push_back(buffers.value[i] - step.lr * (nesterov ? g + step.momentum * momentum[i] : momentum[i]));
      }
      kernels::cpu::sgd(step, buffers.value.data(), buffers.gradient.data(), buffers.first.data(), kCount);
      EXPECT_TRUE(all_close(in_double(buffers.value), value, kFewRoundings, {kCount}));
      EXPECT_TRUE(all_close(in_double(buffers.first), momentum, kFewRoundings, {kCount}));
    }
  });
}

TEST(OptimizerKernels, SquaresOfAnyFloatsSum) {
  for_each_instruction_set([] {
    std::vector<float> values = random_floats(5, -1, 1);
    values[0] = 3e38F;
    values[kOptimizerUnit] = 1e-30F;
    double expected = 0;
    for (const double value : values) expected += value * value;
    EXPECT_NEAR(kernels::cpu::sum_of_squares(values.data(), kCount) / expected, 1, 1e-12);
    values[kCount - 1] = std::nanf("");
    EXPECT_TRUE(std::isnan(kernels::cpu::sum_of_squares(values.data(), kCount)));
  });
}

TEST(OptimizerKernels, ZerosThatFillUpStayZeros) {
  for_each_instruction_set([] {
    AdamBuffers buffers;
    for (auto* buffer : {&buffers.value, &buffers.gradient, &buffers.first, &buffers.second}) {
      std::fill(buffer->end() - 3, buffer->end(), 0.0F);
    }
    kernels::cpu::adam(kAdaptive, buffers.range(), kCount);
    for (const auto* buffer : {&buffers.value, &buffers.first, &buffers.second}) {
      EXPECT_EQ(buffer->back(), 0.0F);
    }
  });
}

}  // namespace
}  // namespace quest::testing
