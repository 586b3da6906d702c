// Losses over the predictions of graphs, against their formulas in float64.

#include "quest/models/graph_losses.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/nn/threads.h"
#include "tests/testing/finite_difference.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

constexpr Bound kBound{.of_value = 1e-6};

double class_weight(const at::Tensor& labels, std::int64_t label) {
  const auto samples = static_cast<double>(labels.size(0));
  return (samples - (labels == label).sum().item<double>()) / samples;
}

TEST(BalancedCrossEntropy, WeighsRareClassesMore) {
  torch::manual_seed(1);
  const at::Tensor logits = at::randn({40, 5}).requires_grad_();
  const at::Tensor labels = at::randint(4, {40}, at::kLong);  // the last class is absent
  const at::Tensor log_likelihoods = logits.detach().to(at::kDouble).log_softmax(-1);
  double total = 0.0;
  double weights = 0.0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto label = labels[i].item<std::int64_t>();
    total -= class_weight(labels, label) * log_likelihoods[i][label].item<double>();
    weights += class_weight(labels, label);
  }
  const at::Tensor loss = models::balanced_cross_entropy(logits, labels);
  EXPECT_TRUE(close(loss, at::scalar_tensor(total / weights, at::kDouble), kBound));
  const auto function = [&](const std::vector<at::Tensor>& x) { return models::balanced_cross_entropy(x[0], labels); };
  EXPECT_TRUE(gradcheck(function, {logits.detach().to(at::kDouble).requires_grad_()}));
}

TEST(BalancedCrossEntropy, IsAPlainMeanForOneLogit) {
  torch::manual_seed(2);
  const at::Tensor logits = at::randn({40, 1});
  const at::Tensor labels = (at::rand({40}) < 0.2).to(at::kLong);
  double total = 0.0;
  for (std::int64_t i = 0; i < 40; ++i) {
    const auto label = labels[i].item<std::int64_t>();
    const double logit = logits[i][0].item<double>();
    total += class_weight(labels, label) * std::log1p(std::exp(label == 1 ? -logit : logit));
  }
  EXPECT_TRUE(
      close(models::balanced_cross_entropy(logits, labels), at::scalar_tensor(total / 40, at::kDouble), kBound));
}

TEST(BalancedCrossEntropy, OfASingleClassOrNoNodeIsZero) {
  const at::Tensor logits = at::randn({3, 4}).requires_grad_();
  const at::Tensor loss = models::balanced_cross_entropy(logits, at::full({3}, 2, at::kLong));
  EXPECT_TRUE(all_zero(loss));
  loss.backward();
  EXPECT_TRUE(all_zero(logits.grad()));
  EXPECT_TRUE(all_zero(models::balanced_cross_entropy(at::zeros({0, 4}), at::zeros({0}, at::kLong))));
  EXPECT_TRUE(all_zero(models::balanced_cross_entropy(at::ones({3, 1}), at::ones({3}, at::kLong))));
}

TEST(GraphLosses, AreTheMeansOfTheirFormulas) {
  torch::manual_seed(3);
  const at::Tensor logits = at::randn({6, 4});
  const at::Tensor wide = logits.to(at::kDouble);
  const at::Tensor labels = at::randint(4, {6}, at::kLong);
  EXPECT_TRUE(close(models::graph_cross_entropy(logits, labels),
                    -wide.log_softmax(-1).gather(1, labels.unsqueeze(1)).mean(), kBound));
  const at::Tensor targets = (at::rand({6, 4}) < 0.5).to(at::kFloat);
  const at::Tensor p = wide.sigmoid();
  EXPECT_TRUE(close(models::graph_binary_cross_entropy(logits, targets),
                    -(targets * p.log() + (1 - targets) * (1 - p).log()).mean(), kBound));
  EXPECT_TRUE(close(models::graph_absolute_error(logits, targets), (wide - targets).abs().mean(), kBound));
}

TEST(PairScores, AreProductsOfTheNodesRows) {
  torch::manual_seed(4);
  const at::Tensor nodes = at::randn({7, 3}).requires_grad_();
  const at::Tensor wide = nodes.detach().to(at::kDouble).requires_grad_();
  const at::Tensor source = at::tensor({6, 0, 6, 2, 6}, at::kLong);
  const at::Tensor target = at::tensor({1, 0, 1, 6, 5}, at::kLong);
  const at::Tensor labels = at::tensor({1, 0, 1, 0, 0}, at::kFloat);
  const at::Tensor exact = wide.matmul(wide.t()).index({source, target});
  EXPECT_TRUE(close(models::pair_scores(nodes, source, target), exact, {.of_largest = 1e-6}));
  const at::Tensor loss = models::pair_cross_entropy(nodes, source, target, labels);
  const at::Tensor exact_loss = -(labels * exact.sigmoid().log() + (1 - labels) * (-exact).sigmoid().log()).mean();
  EXPECT_TRUE(close(loss, exact_loss, kBound));
  loss.backward();
  exact_loss.backward();
  EXPECT_TRUE(close(nodes.grad(), wide.grad(), {.of_largest = 1e-6}));
  const at::Tensor none = at::zeros({0}, at::kLong);
  EXPECT_TRUE(all_zero(models::pair_cross_entropy(nodes, none, none, none)));
}

TEST(PairScores, NoThreadAndNoRunShows) {
  torch::manual_seed(5);
  const at::Tensor nodes = at::randn({300, 16});
  const at::Tensor source = at::randint(300, {5000}, at::kLong);
  const at::Tensor target = at::randint(300, {5000}, at::kLong);
  const at::Tensor labels = (at::rand({5000}) < 0.3).to(at::kFloat);
  expect_same_for_any_threads([&] {
    const at::Tensor x = nodes.clone().requires_grad_();
    models::pair_cross_entropy(x, source, target, labels).backward();
    return std::vector<at::Tensor>{x.grad()};
  });
}

TEST(GraphLosses, RefuseLabelsThatAreNoClassAndOtherShapes) {
  const at::Tensor logits = at::zeros({3, 4});
  EXPECT_THROW(static_cast<void>(models::balanced_cross_entropy(logits, at::full({3}, 4, at::kLong))), c10::Error);
  EXPECT_THROW(static_cast<void>(models::balanced_cross_entropy(logits, at::full({3}, -1, at::kLong))), c10::Error);
  EXPECT_THROW(static_cast<void>(models::balanced_cross_entropy(at::zeros({3, 1}), at::full({3}, 2, at::kLong))),
               c10::Error);
  EXPECT_THROW(static_cast<void>(models::graph_cross_entropy(logits, at::full({3}, 4, at::kLong))), c10::Error);
  EXPECT_THROW(static_cast<void>(models::graph_cross_entropy(logits, at::zeros({2}, at::kLong))), c10::Error);
  EXPECT_THROW(static_cast<void>(models::graph_absolute_error(logits, at::zeros({3}))), c10::Error);
  EXPECT_THROW(static_cast<void>(models::graph_binary_cross_entropy(logits, at::zeros({4, 3}))), c10::Error);
}

}  // namespace
}  // namespace quest::testing
