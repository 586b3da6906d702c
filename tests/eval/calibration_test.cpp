#include "eval/calibration.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "recipe/settings.h"
#include "tests/eval/fixed_classifier.h"
#include "tests/testing/messages.h"

namespace quest::eval {
namespace {

using testing::FixedClassifier;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Settings {
  std::int64_t batch = 500;
  std::int64_t bins = 15;
};

Findings calibration_of(FixedClassifier& task, const std::vector<std::string>& assignments = {}) {
  const auto evaluation = make_calibration();
  recipe::Fields fields;
  evaluation->describe(fields);
  std::vector<recipe::Setting> settings;
  for (const auto& assignment : assignments) settings.push_back(recipe::setting_of_assignment(assignment));
  fields.apply(settings);
  const c10::NoGradGuard no_grad;
  const train::Recipe recipe;
  const auto processes = train::communicator_from_environment(at::kCPU);
  return evaluation->run({.task = task, .recipe = recipe, .processes = *processes, .scratch = {}}, {});
}

Findings calibration_of(const at::Tensor& logits, const at::Tensor& labels, const Settings& settings = {}) {
  FixedClassifier task(logits, labels, settings.batch);
  return calibration_of(task, {"calibration.bins=" + std::to_string(settings.bins)});
}

struct Bin {
  double samples = 0;
  double confidence = 0;
  double hits = 0;
};

struct Naive {
  double nll = 0;
  double error = 0;
  double largest = 0;
  double accuracy = 0;
  double confidence = 0;
  std::vector<Bin> bins;
};

// Sample by sample in float64, of finite logits.
Naive naive(const at::Tensor& logits, const at::Tensor& labels, std::int64_t count) {
  Naive result;
  result.bins.resize(static_cast<std::size_t>(count));
  const auto samples = static_cast<double>(logits.size(0));
  for (std::int64_t i = 0; i < logits.size(0); ++i) {
    std::vector<double> row;
    for (std::int64_t j = 0; j < logits.size(1); ++j) row.push_back(logits[i][j].item<double>());
    const auto best = std::ranges::max_element(row);
    double sum = 0;
    for (const double logit : row) sum += std::exp(logit - *best);
    const auto label = static_cast<std::size_t>(labels[i].item<std::int64_t>());
    const double confidence = 1.0 / sum;
    const double hit = static_cast<std::size_t>(best - row.begin()) == label ? 1.0 : 0.0;
    result.nll += (std::log(sum) - (row[label] - *best)) / samples;
    result.accuracy += hit / samples;
    result.confidence += confidence / samples;
    const auto place = static_cast<std::int64_t>(confidence * static_cast<double>(count));
    auto& bin = result.bins[static_cast<std::size_t>(std::min(place, count - 1))];
    bin.samples += 1;
    bin.confidence += confidence;
    bin.hits += hit;
  }
  for (const auto& bin : result.bins) {
    if (bin.samples == 0) continue;
    const double error = std::abs(bin.hits - bin.confidence);
    result.error += error / samples;
    result.largest = std::max(result.largest, error / bin.samples);
  }
  return result;
}

void expect_naive(const Findings& findings, const Naive& expected) {
  constexpr double kTolerance = 1e-12;
  EXPECT_NEAR(findings.metrics.at("nll"), expected.nll, kTolerance * (1 + expected.nll));
  EXPECT_NEAR(findings.metrics.at("expected_calibration_error"), expected.error, kTolerance);
  EXPECT_NEAR(findings.metrics.at("largest_calibration_error"), expected.largest, kTolerance);
  EXPECT_NEAR(findings.metrics.at("accuracy"), expected.accuracy, kTolerance);
  EXPECT_NEAR(findings.metrics.at("mean_confidence"), expected.confidence, kTolerance);
  ASSERT_EQ(findings.figures.size(), 1U);
  const auto& line = findings.figures[0]["panels"][0]["series"][0];
  const auto& bars = findings.figures[0]["panels"][1]["series"][0];
  ASSERT_EQ(bars["y"].size(), expected.bins.size());
  std::size_t point = 0;
  for (std::size_t i = 0; i < expected.bins.size(); ++i) {
    const auto& bin = expected.bins[i];
    EXPECT_EQ(bars["y"][i].get<double>(), bin.samples) << "bin " << i;
    if (bin.samples == 0) continue;
    ASSERT_LT(point, line["x"].size());
    EXPECT_NEAR(line["x"][point].get<double>(), bin.confidence / bin.samples, kTolerance) << "bin " << i;
    EXPECT_NEAR(line["y"][point].get<double>(), bin.hits / bin.samples, kTolerance) << "bin " << i;
    ++point;
  }
  EXPECT_EQ(point, line["x"].size()) << "an empty bin has no accuracy";
}

TEST(Calibration, IsTheNaiveFormulaForAnyBatchAndNumberOfBins) {
  torch::manual_seed(1);
  const auto logits = 3.0 * torch::randn({101, 7});
  const auto labels = torch::randint(0, 7, {101});
  for (const std::int64_t bins : {1, 2, 15, 1000}) {
    const auto expected = naive(logits, labels, bins);
    for (const std::int64_t batch : {1, 3, 50, 100, 101, 500}) {
      SCOPED_TRACE(std::to_string(bins) + " bins, batches of " + std::to_string(batch));
      const auto findings = calibration_of(logits, labels, {.batch = batch, .bins = bins});
      expect_naive(findings, expected);
      EXPECT_EQ(findings.metrics.at("samples"), 101.0);
    }
  }
}

TEST(Calibration, OfLargeLogitsLosesNothing) {
  const auto logits = torch::tensor({{1e4F, 0.0F, -1e4F}, {-3e4F, 3e4F, 3e4F}, {80.0F, 90.0F, 100.0F}});
  const auto labels = torch::tensor({2, 0, 2});
  expect_naive(calibration_of(logits, labels), naive(logits, labels, 15));
}

// Equal logits of 2, 4 and 8 classes have the confidence of an edge, to the bit.
TEST(Calibration, AConfidenceAtAnEdgeIsInTheBinThatBeginsThere) {
  for (const std::int64_t classes : {2, 4, 8}) {
    const auto findings = calibration_of(torch::full({3, classes}, 0.7), torch::zeros({3}, at::kLong), {.bins = 16});
    const auto& bars = findings.figures[0]["panels"][1]["series"][0];
    for (std::size_t i = 0; i < 16; ++i) {
      EXPECT_EQ(bars["y"][i].get<double>(), static_cast<std::int64_t>(i) == 16 / classes ? 3.0 : 0.0)
          << classes << " classes, bin " << i;
    }
    EXPECT_DOUBLE_EQ(findings.metrics.at("nll"), std::log(static_cast<double>(classes)));
    EXPECT_EQ(findings.metrics.at("accuracy"), 1.0) << "of equals the first is chosen";
  }
}

TEST(Calibration, CertaintyIsInTheLastBin) {
  const auto findings = calibration_of(torch::tensor({{1000.0F, 0.0F}}), torch::tensor({0}), {.bins = 4});
  EXPECT_EQ(findings.figures[0]["panels"][1]["series"][0]["y"][3], 1.0);
  EXPECT_EQ(findings.metrics.at("expected_calibration_error"), 0.0);
  EXPECT_EQ(findings.metrics.at("nll"), 0.0);
}

TEST(Calibration, BinsAreNamedByTheirEdges) {
  const auto findings = calibration_of(torch::zeros({1, 2}), torch::zeros({1}, at::kLong), {.bins = 4});
  const auto& names = findings.figures[0]["panels"][1]["series"][0]["x"];
  EXPECT_EQ(names, nlohmann::ordered_json({"0.00–0.25", "0.25–0.50", "0.50–0.75", "0.75–1.00"}));
}

struct Poison {
  const char* name;
  std::vector<float> row;  // of the label 0
};

class PoisonedCalibration : public ::testing::TestWithParam<Poison> {};

// One broken sample among good ones must not look like a number, whatever batch it is in.
TEST_P(PoisonedCalibration, IsNotANumber) {
  auto logits = torch::randn({10, 3});
  logits[6].copy_(torch::tensor(GetParam().row));
  for (const std::int64_t batch : {3, 10}) {
    const auto metrics = calibration_of(logits, torch::zeros({10}, at::kLong), {.batch = batch}).metrics;
    for (const char* name : {"nll", "expected_calibration_error", "largest_calibration_error", "mean_confidence"}) {
      EXPECT_TRUE(std::isnan(metrics.at(name))) << name << " " << metrics.at(name);
    }
    EXPECT_EQ(metrics.at("samples"), 10.0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    Logits, PoisonedCalibration,
    ::testing::Values(Poison{"nan", {static_cast<float>(kNan), 1.0F, 2.0F}},
                      Poison{"infinity", {static_cast<float>(kInfinity), 1.0F, 2.0F}},
                      Poison{"two_infinities", {static_cast<float>(kInfinity), static_cast<float>(kInfinity), 0.0F}},
                      Poison{"nothing_possible", std::vector<float>(3, -static_cast<float>(kInfinity))}),
    [](const auto& test) { return std::string(test.param.name); });

TEST(Calibration, AnImpossibleClassIsNoPoison) {
  const float never = -static_cast<float>(kInfinity);
  const auto logits = torch::tensor({{0.0F, 0.0F, never}, {0.0F, 0.0F, never}});
  const auto possible = calibration_of(logits, torch::tensor({0, 1})).metrics;
  EXPECT_DOUBLE_EQ(possible.at("nll"), std::log(2.0));
  EXPECT_EQ(possible.at("mean_confidence"), 0.5);
  const auto impossible = calibration_of(logits, torch::tensor({0, 2})).metrics;
  EXPECT_EQ(impossible.at("nll"), kInfinity);
  EXPECT_DOUBLE_EQ(impossible.at("expected_calibration_error"), 0.0) << "half right, half sure";
}

TEST(Calibration, OfNoSampleIsNotANumber) {
  const auto findings = calibration_of(torch::zeros({0, 3}), torch::zeros({0}, at::kLong));
  for (const auto& [name, value] : findings.metrics) {
    EXPECT_EQ(std::isnan(value), name != "samples") << name;
  }
  EXPECT_EQ(findings.metrics.at("samples"), 0.0);
}

std::string split_of(std::vector<std::string> splits, const std::vector<std::string>& assignments = {}) {
  FixedClassifier task(torch::zeros({4, 2}), torch::zeros({4}, at::kLong), 3, std::move(splits));
  (void)calibration_of(task, assignments);
  EXPECT_EQ(task.asked.size(), 2U);
  EXPECT_EQ(task.asked.front().first, task.asked.back().first);
  return task.asked.front().first;
}

TEST(Calibration, IsOfTheTestSplitOrTheLastOrTheOneThatIsNamed) {
  EXPECT_EQ(split_of({"validation", "test", "real"}), "test");
  EXPECT_EQ(split_of({"validation", "real"}), "real");
  EXPECT_EQ(split_of({"validation", "test"}, {"calibration.split=validation"}), "validation");
  const auto message = testing::message_of([] { (void)split_of({"validation", "test"}, {"calibration.split=tset"}); });
  EXPECT_TRUE(testing::has(message, "calibration.split: expected one of validation, test, got tset"));
}

TEST(Calibration, RefusesNoBinsAtAll) {
  FixedClassifier task(torch::zeros({1, 2}), torch::zeros({1}, at::kLong));
  EXPECT_THROW((void)calibration_of(task, {"calibration.bins=0"}), recipe::RecipeError);
  EXPECT_THROW((void)calibration_of(task, {"calibration.bins=1001"}), recipe::RecipeError);
}

}  // namespace
}  // namespace quest::eval
