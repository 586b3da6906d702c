// Batch normalisation of rows against LibTorch's in float64, and the branch that ends in it.

#include "quest/nn/batch_norm.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/nn/threads.h"
#include "tests/testing/finite_difference.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr Bound kBound{.of_largest = 2e-6};
constexpr Bound kSumBound{.of_largest = 1e-5};  // of a hundred float32 terms at a time
constexpr std::int64_t kDim = 21;

nn::BatchNorm disturbed_norm() {
  nn::BatchNorm norm(kDim);
  const at::NoGradGuard no_gradients;
  norm->weight.add_(at::randn_like(norm->weight), 0.5);
  norm->bias.add_(at::randn_like(norm->bias), 0.5);
  norm->running_mean.add_(at::randn_like(norm->running_mean));
  norm->running_var.add_(at::rand_like(norm->running_var));
  return norm;
}

torch::nn::BatchNorm1d wide_copy(const nn::BatchNorm& norm) {
  torch::nn::BatchNorm1d copy(kDim);
  const at::NoGradGuard no_gradients;
  copy->to(at::kDouble);
  copy->weight.copy_(norm->weight);
  copy->bias.copy_(norm->bias);
  copy->running_mean.copy_(norm->running_mean);
  copy->running_var.copy_(norm->running_var);
  copy->train(norm->is_training());
  return copy;
}

struct Leaves {
  at::Tensor x, residual;
};

Leaves leaves(std::int64_t rows) {
  return {(3.0 * at::randn({rows, kDim}) + at::arange(kDim)).requires_grad_(),
          at::randn({rows, kDim}).requires_grad_()};
}

Leaves wide(const Leaves& from) {
  return {from.x.detach().to(at::kDouble).requires_grad_(), from.residual.detach().to(at::kDouble).requires_grad_()};
}

class BatchNormOfRows : public ::testing::TestWithParam<std::tuple<std::int64_t, bool>> {};

TEST_P(BatchNormOfRows, IsLibTorchs) {
  torch::manual_seed(1);
  const auto [rows, training] = GetParam();
  for (const bool is_branch : {false, true}) {
    nn::BatchNorm norm = disturbed_norm();
    norm->train(training);
    torch::nn::BatchNorm1d exact_norm = wide_copy(norm);
    const Leaves given = leaves(rows);
    const Leaves exact = wide(given);
    const at::Tensor out = is_branch ? norm->forward_branch(given.x, given.residual, 0.0) : norm->forward(given.x);
    const at::Tensor y = exact_norm->forward(exact.x);
    const at::Tensor exact_out = is_branch ? exact.residual + y.relu() : y;
    EXPECT_TRUE(close(out, exact_out, kBound));
    const at::Tensor grad = at::randn({rows, kDim});
    out.backward(grad);
    exact_out.backward(grad.to(at::kDouble));
    EXPECT_TRUE(close(given.x.grad(), exact.x.grad(), kBound));
    EXPECT_TRUE(close(norm->weight.grad(), exact_norm->weight.grad(), kSumBound));
    EXPECT_TRUE(close(norm->bias.grad(), exact_norm->bias.grad(), kSumBound));
    if (is_branch) {
      EXPECT_TRUE(close(given.residual.grad(), exact.residual.grad(), kBound));
    }
    EXPECT_TRUE(close(norm->running_mean, exact_norm->running_mean, kBound));
    EXPECT_TRUE(close(norm->running_var, exact_norm->running_var, kBound));
  }
}

INSTANTIATE_TEST_SUITE_P(Nn, BatchNormOfRows,
                         ::testing::Combine(::testing::Values(5, 127, 128, 129, 1000), ::testing::Bool()));

TEST(BatchNorm, IsTheSameFormulaInFloat64) {
  torch::manual_seed(2);
  for (const bool training : {true, false}) {
    nn::BatchNorm norm = disturbed_norm();
    norm->train(training);
    const Leaves given = leaves(40);
    const Leaves exact = wide(given);
    const auto exact_norm = std::dynamic_pointer_cast<nn::BatchNormImpl>(norm->clone());
    exact_norm->to(at::kDouble);
    EXPECT_TRUE(close(norm->forward_branch(given.x, given.residual, 0.0),
                      exact_norm->forward_branch(exact.x, exact.residual, 0.0), kBound));
    const auto branch = [&](const std::vector<at::Tensor>& x) { return exact_norm->forward_branch(x[0], x[1], 0.0); };
    EXPECT_TRUE(gradcheck(branch, {exact.x, exact.residual}));
  }
}

TEST(BatchNorm, DropsAsMuchAsItSaysForwardAndBackwardAlike) {
  torch::manual_seed(3);
  nn::BatchNorm norm(kDim);
  const at::Tensor x = leaves(5000).x;
  const at::Tensor none = at::zeros_like(x);
  const at::Tensor out = norm->forward_branch(x, none, 0.3);
  const at::Tensor active = norm->forward(x).relu().detach();
  const at::Tensor dropped = (out == 0).logical_and(active > 0);
  EXPECT_NEAR(dropped.sum().item<double>() / (active > 0).sum().item<double>(), 0.3, 0.01);
  const at::Tensor factors = at::where(dropped, 0.0, 1.0 / 0.7);
  EXPECT_TRUE(close(out, active * factors, {.of_value = 1e-4}));
  // The gradient of the bias is the sum of the gradients that came through.
  const at::Tensor grad = at::randn({5000, kDim});
  out.backward(grad);
  const at::Tensor through = (grad * factors).masked_fill(active <= 0, 0.0);
  EXPECT_TRUE(close(norm->bias.grad(), through.to(at::kDouble).sum(0), {.of_largest = 1e-4}));
  norm->eval();
  EXPECT_TRUE(identical(norm->forward_branch(x, none, 0.3), norm->forward_branch(x, none, 0.0)));
}

TEST(BatchNorm, NoThreadAndNoRunShows) {
  torch::manual_seed(4);
  const Leaves given = leaves(7001);
  const at::Tensor grad = at::randn({7001, kDim});
  expect_same_for_any_threads([&] {
    torch::manual_seed(5);
    nn::BatchNorm norm(kDim);
    const at::Tensor x = given.x.detach().clone().requires_grad_();
    const at::Tensor out = norm->forward_branch(x, given.residual.detach(), 0.5);
    out.backward(grad);
    return std::vector<at::Tensor>{out, x.grad(), norm->weight.grad(), norm->bias.grad(), norm->running_var};
  });
}

TEST(BatchNorm, TakesOneRowAndNone) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    nn::BatchNorm norm(kDim);
    norm->to(type);
    for (const std::int64_t rows : {0, 1}) {
      const at::Tensor x = at::full({rows, kDim}, 3.0, type).requires_grad_();
      const at::Tensor out = norm->forward_branch(x, x, 0.0);
      EXPECT_TRUE(identical(out, x)) << rows;
      out.sum().backward();
      EXPECT_TRUE(all_finite(x.grad())) << rows;
      EXPECT_TRUE(all_zero(norm->running_mean)) << rows;
    }
  }
}

TEST(BatchNorm, SaysWhatItTakes) {
  nn::BatchNorm norm(kDim);
  EXPECT_THROW(norm->forward(at::zeros({3, kDim + 1})), c10::Error);
  EXPECT_THROW(norm->forward_branch(at::zeros({3, kDim}), at::zeros({4, kDim}), 0.0), c10::Error);
  EXPECT_THROW(nn::BatchNorm(0), c10::Error);
}

}  // namespace
}  // namespace quest::testing
