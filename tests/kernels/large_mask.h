#pragma once

// Additive masks of finite numbers so large that a logit keeps few digits of its score or none.

#include <cstdint>

#include "tests/kernels/kernel_case.h"

namespace quest::testing {

// Scores then have few digits, and no order of summation rounds them: what is left of them beside a mask is certain.
// Only where keys are not normalised, or have a power of four of dimensions.
void make_scores_exact(TestProblem& test);

// Rows that add one number to all keys, to most of them, or numbers of every size; some keys are hidden in earnest.
void fill_with_large_numbers(TestProblem& test, std::uint64_t seed);

}  // namespace quest::testing
