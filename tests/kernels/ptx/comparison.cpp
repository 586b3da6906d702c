#include "tests/kernels/ptx/comparison.h"

#include <gtest/gtest.h>

#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

// How far rounding weights, gradients of scores and results leads away, relative to the sum of the magnitudes of all
// terms: in multiples of half a unit in the last place of a 16-bit type, and at all in float32.
constexpr double kOutputRoundings = 1.5;
constexpr double kGradientRoundings = 2.0;
constexpr double kFloat32Error = 2e-6;

std::vector<double> widen(const std::vector<float>& values) { return {values.begin(), values.end()}; }

double rounding(StorageType type, double count) {
  return type == StorageType::float32 ? kFloat32Error : count * unit_roundoff(type);
}

void expect_rows(const Buffer& actual, const std::vector<double>& exact, double allowed, const char* name) {
  EXPECT_TRUE(all_close(actual.values(), exact, {.absolute = allowed},
                        {actual.batch(), actual.heads(), actual.rows(), actual.dim()}))
      << name;
  EXPECT_TRUE(actual.gaps_untouched()) << name;
}

void expect_floats(const std::vector<float>& actual, const std::vector<double>& exact, const Bound& allowed,
                   const char* name) {
  EXPECT_TRUE(all_close(widen(actual), exact, allowed, {static_cast<std::int64_t>(exact.size())})) << name;
}

}  // namespace

void expect_scalar_results(const TestProblem& test, const KernelResults& actual) {
  const StorageType type = test.problem.type;
  const ScalarResults exact = scalar_attention(test.problem, test.grad_out);
  const ScalarResults terms = scalar_magnitudes(test.problem, test.grad_out);
  const double of_gradients = rounding(type, kGradientRoundings);

  // An output is a mean of values.
  expect_rows(actual.out, exact.out, rounding(type, kOutputRoundings) * largest_magnitude(test.v.values()), "out");
  expect_rows(actual.grad_q, exact.grad_q, of_gradients * largest_magnitude(terms.grad_q), "grad_q");
  expect_rows(actual.grad_k, exact.grad_k, of_gradients * largest_magnitude(terms.grad_k), "grad_k");
  expect_rows(actual.grad_v, exact.grad_v, of_gradients * largest_magnitude(terms.grad_v), "grad_v");
  if (!actual.grad_gain.empty()) {
    const double size = largest_magnitude(terms.grad_gain);
    expect_floats(actual.grad_gain, exact.grad_gain, {.absolute = of_gradients * size}, "grad_gain");
  }
  if (!actual.grad_mask.empty()) {
    const double size = largest_magnitude(mask_gradient(test, terms.grad_logits));
    expect_floats(actual.grad_mask, mask_gradient(test, exact.grad_logits), {.absolute = of_gradients * size},
                  "grad_mask");
  }

  const Bound close{.of_largest = rounding(type, 1.0), .absolute = rounding(type, 1.0)};
  expect_floats(actual.lse, exact.lse, close, "lse");
  expect_floats(actual.max_logit, exact.max_logit, close, "max_logit");
  expect_floats(actual.entropy, exact.entropy, close, "entropy");
  expect_floats(actual.q_norm, exact.q_norm, close, "q_norm");
  expect_floats(actual.k_norm, exact.k_norm, close, "k_norm");
  expect_floats(actual.key_mass, exact.key_mass, close, "key_mass");
}

}  // namespace quest::testing
