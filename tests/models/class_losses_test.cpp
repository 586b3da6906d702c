#include "quest/models/class_losses.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr std::int64_t kSamples = 6;
constexpr std::int64_t kClasses = 11;

// Mixtures of two classes each, with smoothing where asked for.
at::Tensor mixed_targets(double smoothing) {
  const at::Tensor share = torch::rand({kSamples, 1}, at::kDouble);
  const at::Tensor some = at::one_hot(torch::randint(kClasses, {kSamples}), kClasses).to(at::kDouble);
  const at::Tensor mixed = share * some + (1 - share) * some.flip(0);
  return mixed * (1 - smoothing) + smoothing / kClasses;
}

// Element by element in float64.
template <typename Term>
double sum_of(const at::Tensor& logits, const at::Tensor& targets, const Term& term) {
  const at::Tensor x = logits.detach().to(at::kDouble).contiguous();
  const at::Tensor t = targets.to(at::kDouble).contiguous();
  double sum = 0;
  for (std::int64_t i = 0; i < kSamples; ++i) {
    const double* row = x.const_data_ptr<double>() + i * kClasses;
    double normalizer = 0;
    for (std::int64_t c = 0; c < kClasses; ++c) normalizer += std::exp(row[c]);
    for (std::int64_t c = 0; c < kClasses; ++c) {
      sum += term(row[c], t.const_data_ptr<double>()[i * kClasses + c], std::log(normalizer));
    }
  }
  return sum;
}

TEST(SoftCrossEntropy, IsTheMeanOverTheSamples) {
  torch::manual_seed(1);
  for (const double smoothing : {0.0, 0.1}) {
    const at::Tensor logits = 3 * torch::randn({kSamples, kClasses});
    const at::Tensor targets = mixed_targets(smoothing).to(at::kFloat);
    const double expected =
        sum_of(logits, targets, [](double x, double t, double normalizer) { return t * (normalizer - x); }) / kSamples;
    EXPECT_NEAR(models::soft_cross_entropy(logits, targets).item<double>(), expected, 1e-6 * expected);
  }
}

TEST(ThresholdedBinaryCrossEntropy, CountsEveryClassOfAMixtureFully) {
  torch::manual_seed(2);
  const at::Tensor logits = 3 * torch::randn({kSamples, kClasses});
  const at::Tensor targets = mixed_targets(0.0);
  const auto term = [](double x, double t, double /*normalizer*/) { return std::log1p(std::exp(t > 0 ? -x : x)); };
  const double expected = sum_of(logits, targets, term) / (kSamples * kClasses);
  EXPECT_NEAR(models::thresholded_binary_cross_entropy(logits, targets).item<double>(), expected, 1e-6 * expected);
  EXPECT_EQ(models::thresholded_binary_cross_entropy(logits.to(at::kBFloat16), targets).scalar_type(), at::kFloat);
}

TEST(ClassLosses, HaveTheirGradients) {
  torch::manual_seed(3);
  const at::Tensor logits = torch::randn({kSamples, kClasses}, at::kDouble).requires_grad_();
  const at::Tensor targets = mixed_targets(0.1);
  models::soft_cross_entropy(logits, targets).backward();
  const at::Tensor softmax = logits.detach().softmax(1);
  EXPECT_TRUE(close(logits.grad(), (softmax - targets) / kSamples, {.absolute = 1e-12}));
  logits.mutable_grad().reset();
  const at::Tensor sharp = mixed_targets(0.0);
  models::thresholded_binary_cross_entropy(logits, sharp).backward();
  const at::Tensor present = (sharp > 0).to(at::kDouble);
  EXPECT_TRUE(close(logits.grad(), (logits.detach().sigmoid() - present) / (kSamples * kClasses), {.absolute = 1e-12}));
}

TEST(ClassLosses, RefuseTargetsOfAnotherShape) {
  EXPECT_THROW((void)models::soft_cross_entropy(at::zeros({2, 3}), at::zeros({2, 4})), c10::Error);
  EXPECT_THROW((void)models::thresholded_binary_cross_entropy(at::zeros({2, 3}), at::zeros({2})), c10::Error);
}

}  // namespace
}  // namespace quest::testing
