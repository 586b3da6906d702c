#include "bench/step_settings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

namespace quest::bench {
namespace {

using Json = nlohmann::json;

class StepSettings : public ::testing::Test {
 protected:
  StepSettings() {
    fields_.integer("seed", seed_, {}, "");
    fields_.integer("train.batch_size", batch_, {}, "");
    fields_.number("optimizer.lr", lr_, {}, "");
    fields_.flag("optimizer.nesterov", nesterov_, "");
    fields_.text("model.note", note_, "");
    fields_.numbers("model.rates", rates_, {}, "");
  }
  [[nodiscard]] Json told(const std::vector<std::pair<std::string, std::string>>& of_task) const {
    return Json::parse(loop_settings(fields_, {.device = "cuda", .threads = 3, .of_task = of_task}));
  }

  recipe::Fields fields_;

 private:
  std::int64_t seed_ = 9007199254740993;  // no float64
  std::int64_t batch_ = 16;
  double lr_ = 0.1;
  bool nesterov_ = true;
  std::string note_ = "a \"quoted\" text, é";
  std::vector<double> rates_ = {0.5, 1.0};
};

TEST_F(StepSettings, AreTheRecipesKeysBySection) {
  EXPECT_EQ(Json(settings_json(fields_)), Json::parse(R"({
    "seed": 9007199254740993,
    "train": {"batch_size": 16},
    "optimizer": {"lr": 0.1, "nesterov": true},
    "model": {"note": "a \"quoted\" text, é", "rates": [0.5, 1.0]}
  })"));
}

TEST_F(StepSettings, TellALoopWhatTheBenchmarkAndTheTaskKnow) {
  const auto settings = told({{"classes", "10"}, {"shape", "[3, 4]"}, {"name", "\"x\""}});
  EXPECT_EQ(settings["device"], "cuda");
  EXPECT_EQ(settings["threads"], 3);
  EXPECT_EQ(settings["batch"], 16);
  EXPECT_EQ(settings["classes"], 10);
  EXPECT_EQ(settings["shape"], Json({3, 4}));
  EXPECT_EQ(settings["name"], "x");
  EXPECT_EQ(settings["optimizer"]["lr"], 0.1);
}

TEST_F(StepSettings, AFactMayNotTakeThePlaceOfSomethingElse) {
  for (const char* name : {"model", "seed", "device", "batch"}) {
    EXPECT_THROW((void)told({{name, "1"}}), std::logic_error) << name;
  }
  EXPECT_THROW((void)told({{"classes", "1"}, {"classes", "1"}}), std::logic_error);
}

TEST(StepLoop, IsAtHandAsAModule) {
  const auto program = with_step_loop("from step_loop import take_steps\n");
  EXPECT_TRUE(program.starts_with("import sys, types\n"));
  EXPECT_TRUE(program.ends_with("sys.modules['step_loop'] = module\nfrom step_loop import take_steps\n"));
  EXPECT_NE(program.find("def take_steps(settings, model, loss):\\n"), std::string::npos);
}

}  // namespace
}  // namespace quest::bench
