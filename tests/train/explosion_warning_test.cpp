#include "train/run/explosion_warning.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace quest::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

LayerRecord record(std::int64_t step, std::vector<double> logits) {
  LayerRecord record{.step = step, .layer = "blocks.3.attn"};
  for (const double logit : logits) record.key_norm.push_back(logit / 2.0);
  record.max_logit = std::move(logits);
  return record;
}

std::vector<ExplosionWarning> warnings_of(const std::vector<double>& logits, std::int64_t every = 10) {
  ExplosionDetector detector;
  std::vector<ExplosionWarning> all;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const auto step = static_cast<std::int64_t>(i + 1) * every;
    for (auto& warning : detector.add(record(step, {logits[i]}))) all.push_back(std::move(warning));
  }
  return all;
}

std::vector<double> growing(double from, double factor, int count) {
  std::vector<double> logits;
  for (int i = 0; i < count; ++i) logits.push_back(from * std::pow(factor, i));
  return logits;
}

TEST(ExplosionWarning, NamesTheHeadAndItsGrowth) {
  ExplosionDetector detector;
  std::vector<ExplosionWarning> found;
  for (std::int64_t step = 10; found.empty() && step < 1000; step += 10) {
    found = detector.add(record(step, {5.0, 12.0 * std::exp2(static_cast<double>(step) / 180.0)}));
  }
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].head, 1U);
  EXPECT_EQ(found[0].text(),
            "layer blocks.3.attn head 1: max logit doubled in 190 steps (13.0 → 26.9), key norm 6.5 → 13.5");
  EXPECT_EQ((ExplosionWarning{"a", 0, {100, 2.0, 1.0}, {140, 51.0, 7.0}}).text(),
            "layer a head 0: max logit grew in 40 steps (2.0 → 51.0), key norm 1.0 → 7.0");
}

TEST(ExplosionWarning, EachDoublingWarnsOnce) {
  EXPECT_EQ(warnings_of(growing(20.0, std::exp2(0.1), 81)).size(), 7U);  // up to 256 times: 40, 80, ..., 2560, 5120
  EXPECT_EQ(warnings_of(growing(20.0, std::exp2(0.1), 21)).size(), 1U);
  EXPECT_EQ(warnings_of(std::vector<double>(100, 80.0)).size(), 0U);
}

TEST(ExplosionWarning, SlowGrowthAndSmallLogitsAreQuiet) {
  EXPECT_TRUE(warnings_of(growing(30.0, std::exp2(1.0 / 25.0), 200)).empty()) << "doubles in 250 steps";
  EXPECT_TRUE(warnings_of(growing(0.01, std::exp2(0.5), 22)).empty()) << "ends at 20";
}

TEST(ExplosionWarning, OneNoisyRecordIsNone) {
  std::vector<double> logits(30, 20.0);
  logits[20] = 90.0;
  EXPECT_TRUE(warnings_of(logits).empty());
  std::vector<double> dip(30, 40.0);
  dip[10] = 3.0;
  EXPECT_TRUE(warnings_of(dip).empty());
}

TEST(ExplosionWarning, FewRecordsInTheWindowStillWarn) { EXPECT_EQ(warnings_of({10, 10, 10, 80, 90}, 500).size(), 1U); }

TEST(ExplosionWarning, WhatIsNotFiniteDoesNoHarm) {
  EXPECT_EQ(warnings_of({10, kNan, 10, kInfinity, 10, 1e30, 1e30, kInfinity, kNan}).size(), 1U);
  EXPECT_TRUE(warnings_of({-kInfinity, -kInfinity, -kInfinity, -kInfinity, -kInfinity}).empty());
}

// One head of a small transformer with standard attention, AdamW, recorded every 10 steps from the first: a learning
// rate of 1e-3, with which it learns its task, and one of 2e-2.
TEST(ExplosionWarning, TellsRealTrainingsApart) {
  const std::vector<double> healthy = {0.1,  0.1,  0.1,  0.1,  0.2,  0.7,  2.4,  4.7,  6.4,  8.7,
                                       12.6, 12.9, 12.9, 15.6, 13.0, 15.9, 15.5, 15.9, 19.1, 16.6,
                                       15.7, 17.3, 17.4, 19.5, 16.4, 14.2, 19.8, 15.0, 14.3, 18.5,
                                       23.2, 15.8, 14.9, 18.4, 20.4, 15.8, 19.9, 12.7, 16.5, 10.3};
  const std::vector<double> wild = {0.2,   1.3,   5.1,   28.0,  51.0,  74.6,  112.8, 138.8, 155.2, 176.1,
                                    173.2, 183.3, 205.2, 235.9, 262.2, 210.4, 218.6, 144.6, 127.1, 144.2};
  EXPECT_TRUE(warnings_of(healthy).empty());
  const auto warnings = warnings_of(wild);
  ASSERT_EQ(warnings.size(), 3U);
  EXPECT_EQ(warnings[0].now.step, 50);
}

}  // namespace
}  // namespace quest::train
