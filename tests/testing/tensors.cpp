#include "tests/testing/tensors.h"

#include <torch/torch.h>

#include <cmath>

namespace quest::testing {
namespace {

constexpr double kFloat32Error = 5e-6;
constexpr double kFloat64Error = 1e-13;

}  // namespace

std::vector<double> elements(const at::Tensor& tensor) {
  const at::Tensor flat = tensor.detach().to(at::kDouble).contiguous();
  return {flat.const_data_ptr<double>(), flat.const_data_ptr<double>() + flat.numel()};
}

::testing::AssertionResult close(const at::Tensor& actual, const at::Tensor& expected, const Bound& bound) {
  if (!actual.defined() || !expected.defined() || actual.sizes() != expected.sizes()) {
    const auto sizes = [](const at::Tensor& tensor) {
      return tensor.defined() ? (std::ostringstream() << tensor.sizes()).str() : std::string("undefined");
    };
    return ::testing::AssertionFailure() << "shape " << sizes(actual) << ", expected " << sizes(expected);
  }
  return all_close(elements(actual), elements(expected), bound, expected.sizes().vec());
}

::testing::AssertionResult identical(const at::Tensor& actual, const at::Tensor& expected) {
  if (actual.sizes() != expected.sizes() || actual.scalar_type() != expected.scalar_type()) {
    return ::testing::AssertionFailure() << actual.toString() << " " << actual.sizes() << ", expected "
                                         << expected.toString() << " " << expected.sizes();
  }
  const at::Tensor a = actual.detach().contiguous();
  const at::Tensor b = expected.detach().contiguous();
  if (std::memcmp(a.const_data_ptr(), b.const_data_ptr(), a.nbytes()) == 0) {
    return ::testing::AssertionSuccess();
  }
  const ::testing::AssertionResult values = all_close(elements(a), elements(b), kExact, expected.sizes().vec());
  return ::testing::AssertionFailure() << (values ? "the sign of a zero or a NaN differs" : values.message());
}

::testing::AssertionResult all_zero(const at::Tensor& tensor) {
  return close(tensor, at::zeros_like(tensor, at::kDouble), kExact);
}

::testing::AssertionResult all_finite(const at::Tensor& tensor) {
  const at::Tensor bad = at::isfinite(tensor.detach()).logical_not();
  if (!bad.any().item<bool>()) {
    return ::testing::AssertionSuccess();
  }
  const auto first = static_cast<std::size_t>(bad.flatten().to(at::kInt).argmax().item<std::int64_t>());
  return ::testing::AssertionFailure() << bad.sum().item<std::int64_t>() << " elements are not finite, the first at "
                                       << index_text(first, tensor.sizes().vec());
}

double unit_roundoff(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return std::ldexp(1.0, -53);
    case at::kFloat:
      return std::ldexp(1.0, -24);
    case at::kBFloat16:
      return std::ldexp(1.0, -8);
    case at::kHalf:
      return std::ldexp(1.0, -11);
    default:
      throw std::invalid_argument("not a floating type");
  }
}

Bound output_bound(at::ScalarType type) {
  if (type == at::kDouble) {
    return {.of_largest = kFloat64Error};
  }
  return {.of_largest = kFloat32Error, .of_value = type == at::kFloat ? 0.0 : 1.01 * unit_roundoff(type)};
}

}  // namespace quest::testing
