// Batch normalisation on a GPU, or interpreted, held to float64 and to the CPU's kernels.

#include "nn/kernels/batch_norm_gpu.h"

#include <gtest/gtest.h>

#include "tests/nn/on_gpu.h"

namespace quest::nn::kernels {
namespace {

using testing::expect_near;
using testing::Floats;
using testing::normals;
using testing::OnGpu;

struct Shape {
  std::int64_t rows;
  std::int64_t dim;
};

std::size_t size_of(const Shape& shape) { return static_cast<std::size_t>(shape.rows * shape.dim); }

// Columns whose mean is large beside their deviation.
Floats rows_of(const Shape& shape) {
  Floats x = normals(shape.rows * shape.dim, 1);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += 10.0F * static_cast<float>(i % static_cast<std::size_t>(shape.dim));
  return x;
}

struct Moments {
  Floats mean, inverse, variance;
};

constexpr double kEps = 1e-5;

Moments moments_of(const Floats& x, const Shape& shape) {
  Moments result;
  for (std::int64_t column = 0; column < shape.dim; ++column) {
    double mean = 0.0;
    double square = 0.0;
    const auto at = [&](std::int64_t row) {
      return static_cast<double>(x[static_cast<std::size_t>(row * shape.dim + column)]);
    };
    for (std::int64_t row = 0; row < shape.rows; ++row) mean += at(row) / static_cast<double>(shape.rows);
    for (std::int64_t row = 0; row < shape.rows; ++row) square += (at(row) - mean) * (at(row) - mean);
    const double variance = square / static_cast<double>(shape.rows);
    result.mean.push_back(static_cast<float>(mean));
    result.variance.push_back(static_cast<float>(variance));
    result.inverse.push_back(static_cast<float>(1.0 / std::sqrt(variance + kEps)));
  }
  return result;
}

class NormOnGpu : public ::testing::TestWithParam<Shape> {
 protected:
  void SetUp() override {
    if (!testing::has_gpu()) GTEST_SKIP() << "skipped: no GPU";
  }

  Shape shape_ = GetParam();
  const GpuNorm& gpu_ = *gpu_norm();
  Floats x_ = rows_of(shape_);
  Floats weight_ = normals(shape_.dim, 2);
  Floats bias_ = normals(shape_.dim, 3);
  std::size_t workspace_ = static_cast<std::size_t>(norm_workspace(shape_.rows, shape_.dim));
};

TEST_P(NormOnGpu, StatisticsAreThoseOfTheColumns) {
  const auto dim = static_cast<std::size_t>(shape_.dim);
  const Moments exact = moments_of(x_, shape_);
  const OnGpu<float> x(x_);
  const OnGpu<float> weight(weight_);
  const OnGpu<double> workspace(workspace_);
  const OnGpu<float> mean(dim);
  const OnGpu<float> inverse(dim);
  const OnGpu<float> scale(dim);
  const OnGpu<float> running_mean(Floats(dim, 1.0F));
  const OnGpu<float> running_variance(Floats(dim, 2.0F));
  const bool moves = shape_.rows > 1;
  gpu_.statistics(x.data(), shape_.rows, shape_.dim, workspace.data(),
                  {.weight = weight.data(),
                   .eps = kEps,
                   .momentum = 0.1,
                   .running_mean = moves ? running_mean.data() : nullptr,
                   .running_variance = moves ? running_variance.data() : nullptr,
                   .mean = mean.data(),
                   .inverse = inverse.data(),
                   .scale = scale.data()},
                  nullptr);
  expect_near(mean.values(), exact.mean, "means");
  expect_near(inverse.values(), exact.inverse, "inverse deviations");
  Floats expected_scale(dim);
  Floats expected_mean(dim, 1.0F);
  Floats expected_variance(dim, 2.0F);
  const auto rows = static_cast<float>(shape_.rows);
  for (std::size_t i = 0; i < dim; ++i) {
    expected_scale[i] = weight_[i] * exact.inverse[i];
    if (!moves) continue;
    expected_mean[i] = 0.9F + 0.1F * exact.mean[i];
    expected_variance[i] = 1.8F + 0.1F * exact.variance[i] * rows / (rows - 1.0F);
  }
  expect_near(scale.values(), expected_scale, "scales");
  expect_near(running_mean.values(), expected_mean, "running means");
  expect_near(running_variance.values(), expected_variance, "running variances");
}

TEST_P(NormOnGpu, BranchAndGradientsAreThoseOfTheCpu) {
  const Moments exact = moments_of(x_, shape_);
  Floats scale(exact.inverse);
  for (std::size_t i = 0; i < scale.size(); ++i) scale[i] *= weight_[i];
  const Floats residual = normals(shape_.rows * shape_.dim, 4);
  const Floats grad = normals(shape_.rows * shape_.dim, 5);
  const OnGpu<float> x(x_);
  const OnGpu<float> mean_there(exact.mean);
  const OnGpu<float> scale_there(scale);
  const OnGpu<float> inverse_there(exact.inverse);
  const OnGpu<float> bias_there(bias_);
  const OnGpu<float> residual_there(residual);
  const OnGpu<float> grad_there(grad);
  for (const bool is_branch : {false, true}) {
    const NormProblem here{.x = x_.data(),
                           .mean = exact.mean.data(),
                           .scale = scale.data(),
                           .bias = bias_.data(),
                           .dim = shape_.dim,
                           .residual = is_branch ? residual.data() : nullptr,
                           .dropout = is_branch ? 0.3F : 0.0F,
                           .dropout_seed = 77};
    NormProblem there = here;
    there.x = x.data();
    there.mean = mean_there.data();
    there.scale = scale_there.data();
    there.bias = bias_there.data();
    there.residual = is_branch ? residual_there.data() : nullptr;

    Floats out(size_of(shape_));
    normalize(here, out.data(), 0, shape_.rows);
    const OnGpu<float> out_there(out.size());
    gpu_.normalize(there, out_there.data(), shape_.rows, nullptr);
    expect_near(out_there.values(), out, "results");

    const auto dim = static_cast<std::size_t>(shape_.dim);
    Floats sums(dim);
    Floats products(dim);
    for (std::int64_t first = 0; first < shape_.rows; first += kNormBlock) {
      Floats block_sums(dim);
      Floats block_products(dim);
      norm_gradient_sums(here, grad.data(), first, std::min(first + kNormBlock, shape_.rows), block_sums.data(),
                         block_products.data());
      for (std::size_t i = 0; i < dim; ++i) {
        sums[i] += block_sums[i];
        products[i] += block_products[i];
      }
    }
    const OnGpu<double> workspace(workspace_);
    const OnGpu<float> slope(dim);
    const OnGpu<float> offset(dim);
    const OnGpu<float> grad_weight(dim);
    const OnGpu<float> grad_bias(dim);
    gpu_.gradient_sums(there, grad_there.data(), shape_.rows, workspace.data(),
                       {.inverse = inverse_there.data(),
                        .of_batch = true,
                        .slope = slope.data(),
                        .offset = offset.data(),
                        .grad_weight = grad_weight.data(),
                        .grad_bias = grad_bias.data()},
                       nullptr);
    Floats expected_weight(dim);
    Floats expected_slope(dim);
    Floats expected_offset(dim);
    for (std::size_t i = 0; i < dim; ++i) {
      const float share = -scale[i] / static_cast<float>(shape_.rows);
      expected_weight[i] = products[i] * exact.inverse[i];
      expected_slope[i] = share * exact.inverse[i] * exact.inverse[i] * products[i];
      expected_offset[i] = share * sums[i];
    }
    expect_near(grad_bias.values(), sums, "gradients of the bias");
    expect_near(grad_weight.values(), expected_weight, "gradients of the weight");
    expect_near(slope.values(), expected_slope, "slopes");
    expect_near(offset.values(), expected_offset, "offsets");

    Floats grad_x(size_of(shape_));
    const Floats slope_here = slope.values();
    const Floats offset_here = offset.values();
    norm_gradients(here, {grad.data(), slope_here.data(), offset_here.data(), grad_x.data()}, 0, shape_.rows);
    const OnGpu<float> grad_x_there(grad_x.size());
    gpu_.gradients(there, {grad_there.data(), slope.data(), offset.data(), grad_x_there.data()}, shape_.rows, nullptr);
    expect_near(grad_x_there.values(), grad_x, "gradients of the rows");
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, NormOnGpu,
                         ::testing::Values(Shape{700, 48}, Shape{257, 13}, Shape{3, 70}, Shape{1, 5}));

}  // namespace
}  // namespace quest::nn::kernels
