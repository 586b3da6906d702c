#pragma once

// Derivatives checked against central differences in float64, along random directions.

#include <ATen/core/Tensor.h>
#include <gtest/gtest.h>

#include <functional>
#include <vector>

namespace quest::testing {

using TensorFunction = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

// The gradient of every input that requires one, for a random weighting of the outputs.
::testing::AssertionResult gradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs);

// The same for the gradients themselves, as functions of the inputs and of the output's gradient.
::testing::AssertionResult gradgradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs);

// The forward-mode derivative along random tangents of all inputs at once.
::testing::AssertionResult forward_gradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs);

// Forward-mode value and derivative of a function.
struct Dual {
  at::Tensor primal, tangent;
};
Dual forward_mode(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                  const std::vector<at::Tensor>& tangents);

}  // namespace quest::testing
