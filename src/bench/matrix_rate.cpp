#include "bench/matrix_rate.h"

#include <torch/torch.h>

#include <algorithm>

#include "base/clock.h"
#include "bench/measure.h"

namespace quest::bench {
namespace {

constexpr int kRepetitions = 8;

// The host reads a value of the result, so that the device has finished it.
double seconds_of(const at::Tensor& a, const at::Tensor& b) {
  const double start = base::steady_seconds();
  (void)at::mm(a, b).view({-1})[0].item<float>();
  return base::steady_seconds() - start;
}

}  // namespace

double matrix_rate(at::Device device, at::ScalarType dtype) {
  const std::int64_t size = device.is_cpu() ? 1024 : 8192;
  const at::NoGradGuard no_grad;
  const auto a = at::ones({size, size}, at::TensorOptions(device).dtype(dtype));
  double least = seconds_of(a, a);
  for (int i = 1; i < kRepetitions; ++i) least = std::min(least, seconds_of(a, a));
  const auto side = static_cast<double>(size);
  return 2.0 * side * side * side / least;
}

}  // namespace quest::bench
