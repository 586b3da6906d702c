#pragma once

// Tensor comparison for the tests: the error model of closeness.h, the worst element with its index.

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include "tests/testing/closeness.h"

namespace quest::testing {

// The elements in order, in double.
std::vector<double> elements(const at::Tensor& tensor);

// Sizes must agree; types may differ.
::testing::AssertionResult close(const at::Tensor& actual, const at::Tensor& expected, const Bound& bound);

// Bit for bit, NaN payloads and signs of zero included.
::testing::AssertionResult identical(const at::Tensor& actual, const at::Tensor& expected);

::testing::AssertionResult all_zero(const at::Tensor& tensor);
::testing::AssertionResult all_finite(const at::Tensor& tensor);

// Half an ulp relative to the value.
double unit_roundoff(at::ScalarType type);

// How close a result must be to the exact formula on the same rounded inputs: float32 arithmetic within 5e-6 of the
// largest element (float64 on the reference path: 1e-13), then one rounding to the type it is stored in.
Bound output_bound(at::ScalarType type);

}  // namespace quest::testing
