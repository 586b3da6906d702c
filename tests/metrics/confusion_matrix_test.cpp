// F1 and IoU, and the confusion matrix they share.

#include "metrics/confusion_matrix.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "metrics/f1.h"
#include "metrics/iou.h"
#include "metrics/recall.h"
#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

struct Sets {
  double both = 0;
  double only_predicted = 0;
  double only_labels = 0;
};

Sets sets_of(std::int64_t one, const at::Tensor& predicted, const at::Tensor& labels, std::int64_t ignored) {
  Sets sets;
  const auto p = predicted.flatten();
  const auto l = labels.flatten();
  for (std::int64_t i = 0; i < p.numel(); ++i) {
    const auto label = l[i].item<std::int64_t>();
    if (label == ignored) continue;
    const bool is_predicted = p[i].item<std::int64_t>() == one;
    sets.both += is_predicted && label == one ? 1 : 0;
    sets.only_predicted += is_predicted && label != one ? 1 : 0;
    sets.only_labels += !is_predicted && label == one ? 1 : 0;
  }
  return sets;
}

template <typename Kind>
double value(const at::Tensor& predicted, const at::Tensor& labels, std::int64_t classes,
             std::optional<std::int64_t> ignored = std::nullopt) {
  Kind metric(classes, ignored);
  metric.add(predicted, labels);
  return metric.value();
}

TEST(ConfusionMatrix, F1AndIouAgreeWithSetsOfSamplesClassByClass) {
  torch::manual_seed(1);
  for (int round = 0; round < 20; ++round) {
    // Classes 5 to 7 are absent, some of the others by chance.
    const auto predicted = torch::randint(0, 5, {3, 7});
    auto labels = torch::randint(0, 5, {3, 7});
    labels.masked_fill_(torch::rand({3, 7}).lt(0.3), 255);
    double f1 = 0;
    double iou = 0;
    double seen = 0;
    for (std::int64_t one = 0; one < 8; ++one) {
      const auto sets = sets_of(one, predicted, labels, 255);
      if (sets.both + sets.only_predicted + sets.only_labels == 0) continue;
      seen += 1;
      iou += sets.both / (sets.both + sets.only_predicted + sets.only_labels);
      if (sets.both == 0) continue;
      const double precision = sets.both / (sets.both + sets.only_predicted);
      const double recall = sets.both / (sets.both + sets.only_labels);
      f1 += 2 * precision * recall / (precision + recall);
    }
    EXPECT_NEAR(value<F1>(predicted, labels, 8, 255), f1 / seen, 1e-12);
    EXPECT_NEAR(value<Iou>(predicted, labels, 8, 255), iou / seen, 1e-12);
  }
}

TEST(ConfusionMatrix, GivesNoNumberToAbsentClassesAndZeroToMissedOnes) {
  Iou iou(4);
  iou.add(torch::tensor({0, 0, 1, 3}), torch::tensor({0, 1, 1, 1}));
  const auto scores = iou.per_class();
  EXPECT_EQ(scores[0], 0.5);
  EXPECT_EQ(scores[1], 1.0 / 3.0);
  EXPECT_FALSE(scores[2]);
  EXPECT_EQ(scores[3], 0.0);
  EXPECT_DOUBLE_EQ(iou.value(), (0.5 + 1.0 / 3.0) / 3.0);
}

TEST(ConfusionMatrix, AnIgnoredClassHasNoPartInTheMean) {
  const auto predicted = torch::tensor({0, 0, 1, 1});
  const auto labels = torch::tensor({0, 1, 1, 1});
  EXPECT_DOUBLE_EQ(value<Iou>(predicted, labels, 2), (0.5 + 2.0 / 3.0) / 2.0);
  EXPECT_DOUBLE_EQ(value<Iou>(predicted, labels, 2, 0), 2.0 / 3.0);
  EXPECT_DOUBLE_EQ(value<F1>(predicted, labels, 2, 0), 0.8);
}

TEST(ConfusionMatrix, RecallIsTheShareOfEachClassThatWasFound) {
  const auto predicted = torch::tensor({0, 0, 1, 2, 2});
  const auto labels = torch::tensor({0, 1, 1, 1, 1});
  // Class 2 is predicted and is nobody's label; class 3 is neither.
  EXPECT_DOUBLE_EQ(value<Recall>(predicted, labels, 4), (1.0 + 0.25 + 0.0) / 3.0);
}

TEST(ConfusionMatrix, HasOneClass) {
  EXPECT_EQ(value<F1>(torch::zeros({5}), torch::zeros({5}), 1), 1.0);
  EXPECT_EQ(value<Iou>(torch::zeros({5}), torch::zeros({5}), 1), 1.0);
}

TEST(ConfusionMatrix, OfNothingIsNaN) {
  EXPECT_TRUE(std::isnan(F1(3).value()));
  const auto none = torch::empty({0}, at::kLong);
  EXPECT_TRUE(std::isnan(value<Iou>(none, none, 3)));
  EXPECT_TRUE(std::isnan(value<Iou>(torch::tensor({1, 1}), torch::tensor({255, 255}), 3, 255)));
}

TEST(ConfusionMatrix, RefusesWhatIsNoClassByItsNumber) {
  F1 metric(3);
  EXPECT_THROW(F1(0), std::invalid_argument);
  EXPECT_THROW(metric.add(torch::zeros({2}), torch::zeros({3})), std::invalid_argument);
  EXPECT_THROW(metric.add(torch::tensor({-1}), torch::tensor({0})), std::invalid_argument);
  try {
    metric.add(torch::tensor({0, 1}), torch::tensor({0, 3}));
    FAIL() << "a label that is no class was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_STREQ(error.what(), "expected labels from 0 to 2, got 3");
  }
  EXPECT_TRUE(std::isnan(metric.value())) << "a refused batch was counted";
}

TEST(ConfusionMatrix, JoinsExactly) {
  torch::manual_seed(2);
  const auto predicted = torch::randint(0, 6, {37});
  const auto labels = torch::randint(0, 6, {37});
  const auto add = [&](ConfusionMatrix& metric, std::int64_t first, std::int64_t last) {
    metric.add(predicted.slice(0, first, last), labels.slice(0, first, last));
  };
  const auto [f1, joined_f1] = testing::whole_and_joined(37, [] { return std::make_unique<F1>(6); }, add);
  EXPECT_EQ(f1, joined_f1);
  const auto [iou, joined_iou] = testing::whole_and_joined(37, [] { return std::make_unique<Iou>(6); }, add);
  EXPECT_EQ(iou, joined_iou);
  EXPECT_GT(f1, iou);
}

}  // namespace
}  // namespace quest::metrics
