#include "app/training_view.h"

#include <gtest/gtest.h>

#include <sstream>

namespace quest::app {
namespace {

class TrainingViewTest : public ::testing::Test {
 protected:
  TrainingView view(bool terminal) {
    return {results_, status_, {.terminal = terminal, .epochs = 4, .peak_flop_per_second = 3e11, .clock = [this] {
                                  return now_;
                                }}};
  }
  static train::StepReport report(std::int64_t step) {
    return {.step = step,
            .total_steps = 100,
            .epoch = 0.04 * static_cast<double>(step),
            .loss = 0.431249,
            .lr = 9.8e-4,
            .samples_per_second = 1234.0,
            .flop_per_second = 1.5e11};
  }

  std::ostringstream results_;
  std::ostringstream status_;
  double now_ = 0.0;
};

TEST_F(TrainingViewTest, PipedItWritesPlainLinesNowAndThen) {
  auto shown = view(false);
  now_ = 5.0;
  shown.on_step(report(1));
  now_ = 20.0;
  shown.on_step(report(26));
  shown.on_step(report(27));
  EXPECT_EQ(status_.str(),
            "26 %, about 45 s left: epoch 1.0 of 4, loss 0.4312, lr 0.00098, 1234 samples/s, 150 GFLOP/s (50 % of "
            "the peak)\n");
  shown.on_evaluation(21, 1.0, {{"loss", 0.5}, {"accuracy", 0.87654}}, true);
  shown.on_evaluation(22, 2.0, {{"accuracy", 0.8}}, false);
  shown.on_message("layer 3 head 5: max logit doubled in 200 steps");
  shown.on_end("finished");
  EXPECT_EQ(results_.str(),
            "epoch 1.0, step 21: accuracy 0.8765, loss 0.5 (best)\nepoch 2.0, step 22: accuracy 0.8\n"
            "finished in 20 s\n");
  EXPECT_TRUE(status_.str().ends_with("layer 3 head 5: max logit doubled in 200 steps\n"));
  EXPECT_EQ(status_.str().find('\033'), std::string::npos);
}

TEST_F(TrainingViewTest, AResumedTrainingIsNotThoughtFasterThanItIs) {
  auto shown = view(false);
  now_ = 1.0;
  shown.on_step(report(50));
  now_ = 11.0;
  shown.on_step(report(75));
  EXPECT_TRUE(status_.str().starts_with("75 %, about 10 s left: ")) << status_.str();
}

TEST_F(TrainingViewTest, OnATerminalTheBarIsTakenAwayForWhatStays) {
  auto shown = view(true);
  now_ = 1.0;
  shown.on_step(report(50));
  EXPECT_NE(status_.str().find("[############............] 50 %"), std::string::npos) << status_.str();
  shown.on_evaluation(50, 2.0, {{"loss", 0.5}}, false);
  EXPECT_TRUE(status_.str().ends_with("\r\033[K"));
}

TEST(FlopRate, IsEmptyWhereNothingIsKnown) {
  EXPECT_EQ(flop_rate_text(0.0, 1e12), "");
  EXPECT_EQ(flop_rate_text(2.5e12, 0.0), "2.50 TFLOP/s");
}

}  // namespace
}  // namespace quest::app
