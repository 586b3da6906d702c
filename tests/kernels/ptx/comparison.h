#pragma once

#include "tests/kernels/kernel_case.h"

namespace quest::testing {

// In multiples of half a unit in the last place of the storage type: how far rounding weights, gradients of scores and
// results, and with some kernels unit keys, may lead away, relative to the sum of the magnitudes of all terms.
struct Roundings {
  double out = 2.5;
  double gradients = 4.0;
};

// What the kernels give against plain double loops on the same rounded inputs.
void expect_scalar_results(const TestProblem& test, const KernelResults& actual, const Roundings& allowed);

}  // namespace quest::testing
