#pragma once

#include "tests/kernels/kernel_case.h"

namespace quest::testing {

// What the kernels give against plain double loops on the same rounded inputs.
void expect_scalar_results(const TestProblem& test, const KernelResults& actual);

}  // namespace quest::testing
