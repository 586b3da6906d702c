#include "tests/testing/finite_difference.h"

#include <torch/csrc/autograd/forward_grad.h>
#include <torch/torch.h>

#include <cmath>

namespace quest::testing {
namespace {

constexpr double kStep = 1e-5;
constexpr double kRelativeError = 1e-7;  // of a central difference with this step, with room for curvature
constexpr int kDirections = 2;

std::vector<at::Tensor> leaves(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> result;
  for (const at::Tensor& input : inputs) {
    result.push_back(input.detach().clone().requires_grad_(input.requires_grad()));
  }
  return result;
}

std::vector<at::Tensor> moved(const std::vector<at::Tensor>& inputs, const std::vector<at::Tensor>& directions,
                              double step) {
  std::vector<at::Tensor> result = leaves(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (directions[i].defined()) {
      result[i] = (inputs[i].detach() + step * directions[i]).requires_grad_(inputs[i].requires_grad());
    }
  }
  return result;
}

at::Tensor central_difference(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                              const std::vector<at::Tensor>& directions) {
  const at::Tensor ahead = function(moved(inputs, directions, kStep)).detach();
  const at::Tensor behind = function(moved(inputs, directions, -kStep)).detach();
  return (ahead - behind) / (2.0 * kStep);
}

::testing::AssertionResult agree(double analytic, double numeric, double scale, std::size_t input) {
  const double allowed = kRelativeError * std::max(scale, 1.0);
  if (std::abs(analytic - numeric) <= allowed) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << "derivative along a random direction of input " << input << ": " << analytic
                                       << ", central difference " << numeric << ", allowed error " << allowed;
}

class ForwardLevel {
 public:
  ForwardLevel() : level_(torch::autograd::ForwardADLevel::get_next_idx()) {}
  ~ForwardLevel() { torch::autograd::ForwardADLevel::release_idx(level_); }
  ForwardLevel(const ForwardLevel&) = delete;
  ForwardLevel& operator=(const ForwardLevel&) = delete;
  [[nodiscard]] std::int64_t value() const { return static_cast<std::int64_t>(level_); }

 private:
  std::uint64_t level_;
};

}  // namespace

::testing::AssertionResult gradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
  const std::vector<at::Tensor> points = leaves(inputs);
  const at::Tensor output = function(points);
  const at::Tensor weights = at::randn_like(output).detach();
  std::vector<at::Tensor> wanted;
  for (const at::Tensor& point : points) {
    if (point.requires_grad()) {
      wanted.push_back(point);
    }
  }
  const std::vector<at::Tensor> gradients =
      torch::autograd::grad({output}, wanted, {weights}, std::nullopt, false, /*allow_unused=*/true);
  std::size_t next = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!points[i].requires_grad()) {
      continue;
    }
    const at::Tensor gradient = gradients[next].defined() ? gradients[next].detach() : at::zeros_like(points[i]);
    ++next;
    for (int trial = 0; trial < kDirections; ++trial) {
      std::vector<at::Tensor> directions(points.size());
      directions[i] = at::randn_like(points[i]).detach();
      const at::Tensor difference = central_difference(function, points, directions);
      const ::testing::AssertionResult result =
          agree((gradient * directions[i]).sum().item<double>(), (difference * weights).sum().item<double>(),
                (difference * weights).abs().sum().item<double>(), i);
      if (!result) {
        return result;
      }
    }
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult gradgradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> extended = leaves(inputs);
  extended.push_back(at::randn_like(function(inputs)).detach().requires_grad_());
  const TensorFunction gradients = [&function](const std::vector<at::Tensor>& points) {
    const std::vector<at::Tensor> arguments(points.begin(), points.end() - 1);
    std::vector<at::Tensor> wanted;
    for (const at::Tensor& argument : arguments) {
      if (argument.requires_grad()) {
        wanted.push_back(argument);
      }
    }
    std::vector<at::Tensor> pieces;
    for (const at::Tensor& gradient :
         torch::autograd::grad({function(arguments)}, wanted, {points.back()}, true, /*create_graph=*/true)) {
      pieces.push_back(gradient.flatten());
    }
    return at::cat(pieces);
  };
  return gradcheck(gradients, extended);
}

Dual forward_mode(const TensorFunction& function, const std::vector<at::Tensor>& inputs,
                  const std::vector<at::Tensor>& tangents) {
  const ForwardLevel level;
  std::vector<at::Tensor> duals;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    duals.push_back(tangents[i].defined() ? at::_make_dual(inputs[i].detach(), tangents[i], level.value())
                                          : inputs[i].detach());
  }
  const auto [primal, tangent] = at::_unpack_dual(function(duals), level.value());
  return {primal.clone(), tangent.defined() ? tangent.clone() : at::Tensor()};
}

::testing::AssertionResult forward_gradcheck(const TensorFunction& function, const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> tangents(inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].requires_grad()) {
      tangents[i] = at::randn_like(inputs[i]).detach();
    }
  }
  const at::Tensor tangent = forward_mode(function, inputs, tangents).tangent;
  if (!tangent.defined()) {
    return ::testing::AssertionFailure() << "the output carries no forward-mode derivative";
  }
  const at::Tensor difference = central_difference(function, inputs, tangents);
  const double error = (tangent - difference).abs().max().item<double>();
  const double allowed = kRelativeError * std::max(1.0, difference.abs().max().item<double>());
  return error <= allowed ? ::testing::AssertionSuccess()
                          : ::testing::AssertionFailure() << "forward-mode derivative differs from the central "
                                                          << "difference by " << error << ", allowed " << allowed;
}

}  // namespace quest::testing
