// The operators on the CPU: kernels over torch's threads.

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/attention.h"
#include "ops/device_operators.h"
#include "ops/parallel.h"

namespace quest::ops {
namespace {

namespace kernel = kernels::cpu;

// A backward pass recomputes the logits and forms four more products of the same size.
constexpr double kBackwardToForward = 2.5;

struct CpuDevice {
  explicit CpuDevice(const Tensor& /*like*/) {}

  static std::int64_t forward_workspace(const PreparedProblem& /*prepared*/) { return 0; }

  static void forward(const PreparedProblem& prepared, const kernels::ForwardOutputs& outputs) {
    const auto& problem = prepared.problem();
    run_tasks(kernel::forward_tasks(problem), prepared.flops(),
              [&](auto begin, auto end) { kernel::forward(problem, outputs, begin, end); });
  }

  static std::int64_t backward_workspace(const PreparedProblem& prepared, bool gain_grad) {
    return kernel::backward_workspace(prepared.problem(), gain_grad);
  }

  static void backward(const PreparedProblem& prepared, const kernels::BackwardArguments& arguments) {
    const auto& problem = prepared.problem();
    const double flops = kBackwardToForward * prepared.flops();
    run_tasks(kernel::backward_tasks(problem), flops,
              [&](auto begin, auto end) { kernel::backward(problem, arguments, begin, end); });
    run_tasks(kernel::backward_reduce_tasks(problem, arguments.grad_gain != nullptr), flops,
              [&](auto begin, auto end) { kernel::backward_reduce(problem, arguments, begin, end); });
  }

  static void mask_backward(const PreparedProblem& prepared, const kernels::BackwardArguments& arguments,
                            const kernels::MaskGradient& gradient) {
    const auto& problem = prepared.problem();
    run_tasks(kernel::mask_backward_tasks(problem, gradient), prepared.flops(),
              [&](auto begin, auto end) { kernel::mask_backward(problem, arguments, gradient, begin, end); });
  }

  static std::int64_t statistics_workspace(const PreparedProblem& /*prepared*/) { return 0; }

  static void statistics(const PreparedProblem& prepared, const kernels::StatisticsOutputs& outputs) {
    const auto& problem = prepared.problem();
    run_tasks(kernel::statistics_tasks(problem), prepared.flops(),
              [&](auto begin, auto end) { kernel::statistics(problem, outputs, begin, end); });
  }

  static void dropout_factors(float dropout_p, std::uint64_t seed, Sizes sizes, float* factors) {
    const std::int64_t heads = sizes[1];
    const std::int64_t matrix = sizes[2] * sizes[3];
    run_tasks(sizes[0] * heads, static_cast<double>(sizes[0] * heads * matrix), [&](auto begin, auto end) {
      for (std::int64_t i = begin; i < end; ++i) {
        kernel::dropout_factors(dropout_p, seed, i / heads, i % heads, sizes[2], sizes[3], factors + i * matrix);
      }
    });
  }

  // In one order and in double precision, whatever the number of threads.
  static Tensor sum_to(const Tensor& matrix, std::int64_t rows, std::int64_t columns) {
    const Sizes sizes = sizes_of(matrix);
    if (sizes[0] == rows && sizes[1] == columns) {
      return matrix;
    }
    std::vector<double> sums(static_cast<std::size_t>(rows * columns));
    const float* source = const_floats(matrix);
    for (std::int64_t row = 0; row < sizes[0]; ++row) {
      for (std::int64_t column = 0; column < sizes[1]; ++column) {
        const std::int64_t target = (rows == 1 ? 0 : row) * columns + (columns == 1 ? 0 : column);
        sums[static_cast<std::size_t>(target)] += *source++;
      }
    }
    Tensor result = new_tensor(std::array{rows, columns}, ScalarType::Float, matrix);
    std::transform(sums.begin(), sums.end(), floats(result), [](double sum) { return static_cast<float>(sum); });
    return result;
  }
};

}  // namespace
}  // namespace quest::ops

STABLE_TORCH_LIBRARY_IMPL(quest, CPU, library) { quest::ops::implement<quest::ops::CpuDevice>(library); }
