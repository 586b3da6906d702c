#include "domains/toy/outcome.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "domains/toy/spurious_result.h"

namespace quest::toy {
namespace {

TEST(Outcome, IsThatOfThePaper) {
  EXPECT_EQ(outcome_of(0.99, 0.95), Outcome::correct);
  EXPECT_EQ(outcome_of(0.99, 0.90), Outcome::other);
  EXPECT_EQ(outcome_of(0.90, 0.99), Outcome::other);
  EXPECT_EQ(outcome_of(0.65, 0.30), Outcome::biased);
  EXPECT_EQ(outcome_of(0.65, 0.50), Outcome::other);
  EXPECT_EQ(outcome_of(0.12, 0.10), Outcome::degenerate);
  EXPECT_EQ(outcome_of(0.0, 0.0), Outcome::degenerate);
  EXPECT_EQ(outcome_of(0.19, 0.21), Outcome::other);
}

TEST(SpuriousResult, MarksOneOutcomeOfFour) {
  const std::map<std::string, std::pair<float, float>> accuracies = {
      {"success", {0.97F, 0.93F}}, {"biased", {0.6F, 0.3F}}, {"degenerate", {0.1F, 0.1F}}, {"other", {0.97F, 0.3F}}};
  for (const auto& [marked, of] : accuracies) {
    const auto metrics = packed_result({{}, of.first, of.second}).metrics;
    EXPECT_EQ(metrics.size(), 6U);
    for (const auto& [name, unused] : accuracies) EXPECT_EQ(metrics.at(name), name == marked ? 1.0 : 0.0) << name;
  }
}

// 0.8F is a little more than 0.8, and 0.2F than 0.2: the rule is about the shares.
TEST(SpuriousResult, AppliesTheRuleToTheNumbersItKeeps) {
  const auto on_the_border = packed_result({{}, 0.8F, 0.45F}).metrics;
  EXPECT_EQ(on_the_border.at("train_accuracy"), 0.8);
  EXPECT_EQ(on_the_border.at("test_accuracy"), 0.45);
  EXPECT_EQ(on_the_border.at("biased"), 1.0);
  EXPECT_EQ(packed_result({{}, 0.2F, 0.2F}).metrics.at("degenerate"), 1.0);
  EXPECT_EQ(packed_result({{}, 0.9F, 0.95F}).metrics.at("success"), 0.0);
}

TEST(SpuriousResult, KeepsEveryEpochOfEverySeries) {
  const engine::EpochRecord first{1.0F, 2.0F, 3.0F, 4.0F, 5.0F, 6.0F, 7.0F, 8.0F};
  const engine::EpochRecord second{0.123456789F, 0.2F, 0.3F, 0.4F, 0.5F, 0.6F, 0.7F, NAN};
  const auto result = packed_result({{first, second}, 0.5F, 0.5F});
  EXPECT_EQ(result.status, "finished");
  EXPECT_EQ(
      result.series.dump(),
      R"({"loss":[1.0,0.123457],"train_accuracy":[2.0,0.2],"test_accuracy":[3.0,0.3],"biased_key_norm":[4.0,0.4],)"
      R"("unbiased_key_norm":[5.0,0.5],"other_key_norm":[6.0,0.6],"query_norm":[7.0,0.7],"entropy":[8.0,null]})");
}

}  // namespace
}  // namespace quest::toy
