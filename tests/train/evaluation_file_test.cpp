#include "train/run/evaluation_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::train {
namespace {

using testing::TemporaryFolder;
using testing::text_of;
using Json = nlohmann::ordered_json;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(EvaluationFile, IsWrittenAsDocumented) {
  const TemporaryFolder run;
  write_evaluation(run.path(), "calibration", {{"bins", 15}, {"weights", "best"}},
                   {{"error", 0.25}, {"accuracy", 0.5}});
  EXPECT_EQ(Json::parse(text_of(run.path() / "evaluations/calibration.json")).dump(),
            R"({"evaluation":"calibration","bins":15,"weights":"best","metrics":{"error":0.25,"accuracy":0.5}})");
}

TEST(EvaluationFile, KeepsEveryDigit) {
  const TemporaryFolder run;
  write_evaluation(run.path(), kBestEvaluation, {{"step", 3}}, {{"loss", 0.1 + 0.2}});
  EXPECT_EQ(Json::parse(text_of(run.path() / "evaluations/best.json"))["metrics"]["loss"].get<double>(), 0.1 + 0.2);
}

TEST(EvaluationFile, WhatIsNotFiniteIsNull) {
  const TemporaryFolder run;
  write_evaluation(run.path(), "best", {{"epoch", kNan}},
                   {{"loss", kNan}, {"largest", kInfinity}, {"least", -kInfinity}});
  EXPECT_EQ(Json::parse(text_of(run.path() / "evaluations/best.json")).dump(),
            R"({"evaluation":"best","epoch":null,"metrics":{"loss":null,"largest":null,"least":null}})");
}

TEST(EvaluationFile, TakesThePlaceOfTheOneBeforeAsAWhole) {
  const TemporaryFolder run;
  const auto file = run.path() / "evaluations/best.json";
  write_evaluation(run.path(), "best", {{"step", 1}}, {{"loss", 2.0}, {"accuracy", 0.5}});
  write_evaluation(run.path(), "best", {{"step", 2}}, {{"loss", 1.0}});
  const auto written = text_of(file);
  EXPECT_EQ(Json::parse(written).dump(), R"({"evaluation":"best","step":2,"metrics":{"loss":1.0}})");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(file.parent_path()), {}), 1) << "a file was left behind";
  std::filesystem::create_directory(file.string() + ".tmp");  // the next one cannot be written
  EXPECT_THROW(write_evaluation(run.path(), "best", {{"step", 3}}, {{"loss", 0.5}}), std::runtime_error);
  EXPECT_EQ(text_of(file), written);
}

}  // namespace
}  // namespace quest::train
