// Evaluations: splits, names, processes, and the file of the best one.

#include "train/engine/evaluate.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "metrics/accuracy.h"
#include "metrics/average_precision.h"
#include "metrics/confusion_matrix.h"
#include "metrics/f1.h"
#include "metrics/mean.h"
#include "tests/testing/threads_as_processes.h"
#include "tests/train/seeded.h"
#include "tests/train/tiny_run.h"
#include "tests/train/token_task.h"
#include "train/engine/classifier.h"
#include "train/engine/late_numbers.h"
#include "train/run/evaluation_file.h"

namespace quest::train {
namespace {

using testing::as_processes;
using testing::QuietListener;
using testing::TinyRun;
using testing::token_recipe;
using testing::TokenTask;
using testing::train_in;

// Sums, and rows of which a process may have none.
struct Predictions {
  at::Tensor scores;
  at::Tensor targets;

  void add_to(metrics::Metrics& metrics, std::int64_t first, std::int64_t last) const {
    auto& mean = metrics.get<metrics::Mean>("mean");
    auto& precision = metrics.get<metrics::AveragePrecision>("precision", 3);
    auto& f1 = metrics.get<metrics::F1>("f1", 3);
    if (first == last) return;
    const auto own = scores.slice(0, first, last);
    const auto given = targets.slice(0, first, last);
    mean.add(own.sum().item<double>(), static_cast<double>(own.numel()));
    precision.add(own, given);
    f1.add(own.argmax(1), given.argmax(1));
  }
};

TEST(Evaluate, MetricsOfAllProcessesAreThoseOfOne) {
  torch::manual_seed(1);
  const Predictions predictions{torch::randn({30, 3}, at::kDouble), torch::rand({30, 3}).lt(0.4).to(at::kDouble)};
  metrics::Metrics whole;
  predictions.add_to(whole, 0, 30);
  const std::vector<std::vector<std::int64_t>> all_cuts = {
      {0, 30, 30}, {0, 0, 30, 30}, {0, 7, 8, 30}, {0, 1, 2, 3, 30}};
  for (const auto& cuts : all_cuts) {
    const int count = static_cast<int>(cuts.size()) - 1;
    std::vector<metrics::Values> values(static_cast<std::size_t>(count));
    as_processes(count, [&](Communicator& processes) {
      const auto rank = static_cast<std::size_t>(processes.rank());
      metrics::Metrics own;
      predictions.add_to(own, cuts[rank], cuts[rank + 1]);
      reduce(own, processes);
      values[rank] = own.values();
    });
    for (const auto& of_process : values) {
      ASSERT_EQ(of_process.size(), 3U);
      EXPECT_NEAR(of_process.at("mean"), whole.values().at("mean"), 1e-14);
      EXPECT_EQ(of_process.at("precision"), whole.values().at("precision"));
      EXPECT_EQ(of_process.at("f1"), whole.values().at("f1"));
    }
  }
}

TEST(Evaluate, ProcessesShareASplitWithoutARest) {
  for (const std::int64_t samples : {0, 1, 7, 100}) {
    for (const std::int64_t count : {1, 2, 3, 8}) {
      std::int64_t end = 0;
      for (std::int64_t index = 0; index < count; ++index) {
        const Split split{"test", index, count};
        EXPECT_EQ(split.begin(samples), end);
        end = split.end(samples);
        EXPECT_LE(end - split.begin(samples), samples / count + 1);
      }
      EXPECT_EQ(end, samples);
    }
  }
}

TEST(Evaluate, SplitsAfterTheFirstNameTheirMetrics) {
  TokenTask task;
  task.names_of_splits = {"validation", "test", "other"};
  std::vector<std::string> evaluated;
  task.on_evaluation = [&](const Split& split) {
    evaluated.push_back(split.name);
    EXPECT_FALSE(at::GradMode::is_enabled());
    EXPECT_FALSE(task.model().is_training());
  };
  const auto processes = communicator_from_environment(at::kCPU);
  const auto values = evaluate(task, token_recipe(), *processes);
  EXPECT_EQ(evaluated, task.names_of_splits);
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"bias", "loss", "other_bias", "other_loss", "test_bias", "test_loss"}));
  EXPECT_NE(values.at("loss"), values.at("test_loss"));
  EXPECT_EQ(values.at("other_loss"), values.at("test_loss"));
  EXPECT_TRUE(at::GradMode::is_enabled());

  const auto all = under_all_names(values, task.names_of_splits);
  EXPECT_EQ(all.size(), 8U);
  EXPECT_EQ(all.at("validation_loss"), values.at("loss"));
  EXPECT_EQ(all.at("validation_bias"), values.at("bias"));
}

TEST(Evaluate, TheBestOneIsWrittenUnderAllNames) {
  TinyRun run;
  TokenTask task;
  task.names_of_splits = {"validation", "test"};
  task.selects = "bias";
  // The second evaluation of three is the best.
  std::int64_t evaluations = 0;
  const auto scale = [](std::int64_t evaluation) { return evaluation == 2 ? -1e6 : 1.0; };
  task.on_evaluation = [&](const Split& split) {
    if (split.name == "validation") task.bias_scale = scale(++evaluations);
  };
  // Answers far below what is predicted, so that the error is positive all along.
  task.y.sub_(100.0);
  auto recipe = token_recipe();
  recipe.optimizer.lr = 1e-4;
  train_in(run, task, recipe);
  ASSERT_EQ(run.listener.best, (std::vector<bool>{true, true, false}));
  const auto best = testing::json_of(run, "evaluations/best.json");
  EXPECT_EQ(best["evaluation"], kBestEvaluation);
  EXPECT_EQ(best["step"], 2);
  EXPECT_EQ(best["epoch"], 2.0);
  const auto& expected = run.listener.evaluations[1];
  ASSERT_EQ(expected.size(), 4U);
  EXPECT_EQ(best["metrics"].size(), 6U);
  for (const auto& [name, value] : expected) EXPECT_EQ(best["metrics"][name].get<double>(), value) << name;
  for (const auto* name : {"loss", "bias"}) {
    EXPECT_EQ(best["metrics"]["validation_" + std::string(name)], best["metrics"][name]);
  }
  EXPECT_EQ(run.ending.metrics, run.listener.evaluations.back()) << "the last evaluation is the run's own";
}

TEST(Evaluate, ANumberThatIsNotFiniteIsNullInTheFile) {
  TinyRun run;
  TokenTask task;
  task.bias_scale = NAN;
  train_in(run, task, token_recipe());
  EXPECT_EQ(run.ending.status, "finished");
  const auto best = testing::json_of(run, "evaluations/best.json");
  EXPECT_TRUE(best["metrics"]["bias"].is_null());
  EXPECT_TRUE(best["metrics"]["loss"].is_number());
}

TEST(Evaluate, ASelectionThatNoEvaluationHasNamesWhatThereIs) {
  TinyRun run;
  TokenTask task;
  task.selects = "accuracy";
  EXPECT_EQ(
      testing::error_of([&] { train_in(run, task, token_recipe()); }),
      "the task selects its best weights by \"accuracy\", and its evaluation has bias, loss; name one of these in "
      "selection()");
  EXPECT_THROW(as_processes(2,
                            [&](Communicator& processes) {
                              TokenTask own;
                              own.selects = "accuracy";
                              QuietListener listener;
                              (void)train(own, token_recipe(), {processes, listener, nullptr});
                            }),
               std::logic_error);
}

// Ten classes by the largest of ten numbers, most of the time.
class TenClasses final : public Classifier {
 public:
  TenClasses() {
    testing::seeded(2, [this] {
      linear_ = torch::nn::Linear(10, 10);
      inputs_ = torch::randn({53, 10});
      labels_ = torch::where(torch::rand({53}).lt(0.5), linear_(inputs_).argmax(1), torch::randint(0, 10, {53}));
    });
  }

  torch::nn::Module& model() override { return *linear_; }
  [[nodiscard]] std::int64_t train_size() const override { return 53; }
  [[nodiscard]] double forward_flops() const override { return 0.0; }
  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    const auto samples = torch::tensor(draw.samples);
    return {samples.size(0),
            {{"inputs", inputs_.index_select(0, samples)}, {"labels", labels_.index_select(0, samples)}}};
  }
  [[nodiscard]] std::int64_t classes() const override { return 10; }
  [[nodiscard]] std::int64_t size(const std::string& /*split*/) const override { return 53; }
  [[nodiscard]] data::Batch examples(const std::string& /*split*/, std::int64_t first,
                                     std::int64_t last) const override {
    largest_batch_ = std::max(largest_batch_, last - first);
    return {last - first, {{"inputs", inputs_.slice(0, first, last)}, {"labels", labels_.slice(0, first, last)}}};
  }
  [[nodiscard]] at::Tensor logits(const data::Batch& batch) override { return linear_(batch["inputs"]); }
  [[nodiscard]] std::int64_t evaluation_batch() const override { return most_at_once; }
  [[nodiscard]] double label_smoothing() const override { return smoothing; }

  [[nodiscard]] std::int64_t largest_batch() const { return largest_batch_; }

  std::int64_t most_at_once = 500;
  double smoothing = 0.0;

 private:
  mutable std::int64_t largest_batch_ = 0;
  torch::nn::Linear linear_ = nullptr;
  at::Tensor inputs_;
  at::Tensor labels_;
};

TEST(Classifier, IsEvaluatedBatchByBatch) {
  TenClasses task;
  const auto all = task.predict("test", 0, 53);
  double hits = 0;
  double loss = 0;
  for (std::int64_t i = 0; i < 53; ++i) {
    const auto row = all.logits[i].to(at::kDouble);
    const auto label = all.labels[i].item<std::int64_t>();
    hits += row.argmax().item<std::int64_t>() == label ? 1 : 0;
    loss += std::log(row.exp().sum().item<double>()) - row[label].item<double>();
  }
  ASSERT_GT(hits, 10);
  ASSERT_LT(hits, 50);
  for (const std::int64_t batch : {1, 7, 53, 500}) {
    for (const int count : {1, 3}) {
      as_processes(count, [&](Communicator& processes) {
        TenClasses own;
        own.most_at_once = batch;
        own.smoothing = 0.5;  // of the training alone
        const auto values = evaluate(own, token_recipe(), processes);
        EXPECT_EQ(values.at("accuracy"), hits / 53) << batch;
        EXPECT_NEAR(values.at("loss"), loss / 53, 1e-6) << batch;
        EXPECT_LE(own.largest_batch(), batch);
      });
    }
  }
}

TEST(Classifier, SmoothsTheLabelsItTrainsWith) {
  TenClasses task;
  task.smoothing = 0.2;
  const auto batch = task.examples("train", 0, 53);
  const auto likelihoods = task.logits(batch).to(at::kDouble).log_softmax(1);
  const auto own = likelihoods.gather(1, batch["labels"].unsqueeze(1)).mean().item<double>();
  const auto expected = -(0.8 * own + 0.2 * likelihoods.mean().item<double>());
  const auto losses = task.loss(batch, {});
  EXPECT_NEAR(losses.total.item<double>(), expected, 1e-6);
  EXPECT_FALSE(losses.weight) << "a mean over samples";
}

TEST(LateNumbers, AreThoseOfTheTimeTheyWereTaken) {
  for (const auto type : {at::kFloat, at::kDouble}) {
    auto numbers = torch::tensor({0.5, -2.0, 1e30}, type);
    const LateNumbers late(numbers);
    const auto largest = numbers[2].item<double>();
    numbers.zero_();
    EXPECT_EQ(late.read(), (std::vector<double>{0.5, -2.0, largest}));
    EXPECT_EQ(late.read(), late.read());
  }
}

}  // namespace
}  // namespace quest::train
