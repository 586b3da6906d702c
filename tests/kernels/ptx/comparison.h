#pragma once

// All kernels of a problem on one kind of GPU, interpreted, against plain double loops on the same rounded inputs.

#include "kernels/cuda/launch.h"
#include "tests/kernels/kernel_case.h"

namespace quest::testing {

// In multiples of half a unit in the last place of the storage type: how far rounding weights, gradients of scores and
// results, and with some kernels unit keys, may lead from the sum of the magnitudes of all terms.
struct Roundings {
  double out = 2.5;
  double gradients = 4.0;
};

void expect_scalar_results(const TestProblem& test, const kernels::cuda::DeviceInfo& gpu, const Roundings& roundings);

}  // namespace quest::testing
