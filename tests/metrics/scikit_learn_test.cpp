// What scikit-learn says of small random inputs: make_scikit_learn_cases.py wrote them down.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "metrics/average_precision.h"
#include "metrics/f1.h"
#include "metrics/mean_error.h"
#include "metrics/mrr.h"
#include "metrics/recall.h"

namespace quest::metrics {
namespace {

constexpr double kAllowed = 1e-12;

const nlohmann::json& cases() {
  static const auto all = nlohmann::json::parse(std::ifstream(QUEST_SCIKIT_LEARN_CASES));
  return all;
}

at::Tensor row(const nlohmann::json& numbers) { return torch::tensor(numbers.get<std::vector<double>>(), at::kDouble); }

at::Tensor rows(const nlohmann::json& numbers) {
  std::vector<at::Tensor> parts;
  for (const auto& each : numbers) parts.push_back(row(each));
  return torch::stack(parts);
}

template <typename Kind, typename... Arguments>
double value(const at::Tensor& first, const at::Tensor& second, Arguments... arguments) {
  Kind metric(arguments...);
  metric.add(first, second);
  return metric.value();
}

TEST(ScikitLearn, AgreesOnClasses) {
  ASSERT_GE(cases()["classes"].size(), 4U);
  for (const auto& each : cases()["classes"]) {
    const auto labels = row(each["labels"]).to(at::kLong);
    const auto predicted = row(each["predicted"]).to(at::kLong);
    const auto classes = each["classes"].get<std::int64_t>();
    EXPECT_NEAR(value<F1>(predicted, labels, classes), each["f1"].get<double>(), kAllowed);
    EXPECT_NEAR(value<Recall>(predicted, labels, classes), each["recall"].get<double>(), kAllowed);
  }
}

TEST(ScikitLearn, AgreesOnScoresWithTies) {
  ASSERT_GE(cases()["scores"].size(), 3U);
  for (const auto& each : cases()["scores"]) {
    const auto scores = rows(each["scores"]).to(at::kFloat);
    const auto targets = rows(each["targets"]).to(at::kFloat);
    EXPECT_NEAR(value<AveragePrecision>(scores, targets, targets.size(1)), each["average_precision"].get<double>(),
                kAllowed);
    EXPECT_NEAR(value<MeanError>(scores, targets, MeanError::Kind::absolute), each["mean_absolute_error"].get<double>(),
                kAllowed);
    EXPECT_NEAR(value<MeanError>(scores, targets, MeanError::Kind::squared), each["mean_squared_error"].get<double>(),
                kAllowed);
  }
}

TEST(ScikitLearn, AgreesOnRanks) {
  ASSERT_GE(cases()["ranks"].size(), 2U);
  for (const auto& each : cases()["ranks"]) {
    const auto scores = rows(each["scores"]);
    const auto right = row(each["right"]).to(at::kLong).unsqueeze(1);
    const auto others = scores.scatter(1, right, -std::numeric_limits<double>::infinity());
    EXPECT_NEAR(value<Mrr>(scores.gather(1, right).squeeze(1), others), each["mrr"].get<double>(), kAllowed);
  }
}

}  // namespace
}  // namespace quest::metrics
