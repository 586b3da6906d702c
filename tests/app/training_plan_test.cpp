#include "app/training_plan.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace quest::app {
namespace {

TrainingPlan small_plan() {
  return {.task = "image",
          .recipe = "tiny",
          .parts = {{"patch_embed", 1088}, {"blocks", 1'200'000}},
          .forward_flop = 20e6,
          .memory = {.weights = 4 * 1201088.0, .gradients = 4 * 1201088.0, .activations = 3 * 1024.0 * 1024.0},
          .samples = 60000,
          .step_samples = 128,
          .steps_per_epoch = 468,
          .steps = 936,
          .learning_rate = [](std::int64_t step) { return step < 468 ? 0.001 : 0.0; }};
}

TEST(TrainingPlan, SaysModelCostStepsAndSchedule) {
  const auto text = plan_text(small_plan(), {});
  for (const char* expected :
       {"Task image, recipe tiny", "blocks", "1,201,088", "20.0 MFLOP", "7.68 GFLOP", "7.19 TFLOP", "4.58 MiB",
        "3.00 MiB", "60,000 samples, 128 a step: 468 steps an epoch, 936 in 2 epochs.", "0.00100 |****", "step 936"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << "missing: " << expected << "\nin:\n" << text;
  }
  EXPECT_EQ(text.find("average"), std::string::npos) << "there is none";
}

TEST(TrainingPlan, AnUnknownCostIsNotZero) {
  auto plan = small_plan();
  plan.forward_flop = 0.0;
  EXPECT_EQ(plan_text(plan, {}).find("FLOP"), std::string::npos);
}

TEST(TrainingPlan, JsonHasTheSameFigures) {
  const auto json = nlohmann::json::parse(plan_json(small_plan()));
  EXPECT_EQ(json["parameters"], 1201088);
  EXPECT_EQ(json["steps"], 936);
  EXPECT_EQ(json["memory"]["activations"], 3 * 1024 * 1024);
  EXPECT_EQ(json["flops_forward"], 20'000'000);
  EXPECT_EQ(json["memory_bytes"], 8 * 1201088 + 3 * 1024 * 1024);
  for (const char* key : {"parameters", "flops_forward", "memory_bytes", "steps"}) {
    EXPECT_TRUE(json[key].is_number_integer()) << key << " " << json[key];
  }
}

TEST(TrainingPlan, ALengthInStepsNeedNotBeWholeEpochs) {
  auto plan = small_plan();
  plan.steps = 700;
  const auto text = plan_text(plan, {});
  EXPECT_NE(text.find("468 steps an epoch, 700 in 1.50 epochs."), std::string::npos) << text;
  EXPECT_NE(text.find("step 700"), std::string::npos) << text;
  plan.steps = 468;
  EXPECT_NE(plan_text(plan, {}).find("468 in 1 epoch."), std::string::npos);
}

TEST(Grouped, PutsACommaEveryThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(-1234567), "-1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
}

}  // namespace
}  // namespace quest::app
