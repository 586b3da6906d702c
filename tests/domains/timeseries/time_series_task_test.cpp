#include "domains/timeseries/time_series_task.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <set>

#include "data/formats/safetensors.h"
#include "data/sets/holdout.h"
#include "data/sets/uea_locator.h"
#include "tests/domains/timeseries/small_series.h"
#include "tests/testing/temporary_folder.h"
#include "tests/train/quiet_listener.h"
#include "train/engine/engine.h"
#include "recipe/recipe_files.h"

namespace quest::timeseries {
namespace {

using testing::QuietListener;
using testing::TemporaryFolder;

// The recipe timeseries with some keys changed.
class Experiment {
 public:
  explicit Experiment(const std::vector<std::string>& assignments) : factory_(timeseries::time_series_task_factory()) {
    recipe_.task = "timeseries";
    train::describe(fields_, recipe_);
    factory_->describe(fields_);
    auto settings = recipe::settings_of_recipe("timeseries");
    for (const auto& assignment : assignments) settings.push_back(recipe::setting_of_assignment(assignment));
    fields_.apply(settings);
  }

  [[nodiscard]] std::unique_ptr<train::Task> task() const {
    torch::manual_seed(recipe_.seed);
    return factory_->make(recipe_, at::kCPU);
  }

  train::Ending train_in(const std::filesystem::path& path, std::int64_t steps = 1'000'000) {
    train::RunFolder folder(path);
    const auto processes = train::communicator_from_environment(at::kCPU);
    std::int64_t taken = 0;
    const auto made = task();
    return train::train(*made, recipe_, {*processes, listener, &folder, [&] { return ++taken >= steps; }});
  }

  QuietListener listener;

 private:
  train::Recipe recipe_;
  std::unique_ptr<domains::TaskFactory> factory_;
  recipe::Fields fields_;
};

class TimeSeriesTask : public ::testing::Test {
 protected:
  TimeSeriesTask() { testing::write_small_series(data_.path(), "Small"); }

  [[nodiscard]] std::vector<std::string> small(const std::vector<std::string>& more = {}) const {
    std::vector<std::string> assignments = {"data.name=",       "data.folder=" + data_.path().string(),
                                            "model.dim=16",     "model.heads=2",
                                            "model.depth=1",    "model.mlp_hidden=16",
                                            "train.epochs=30",  "train.batch_size=8",
                                            "optimizer.lr=0.01"};
    assignments.insert(assignments.end(), more.begin(), more.end());
    return assignments;
  }

  TemporaryFolder data_;
};

TEST_F(TimeSeriesTask, LearnsWithBothHeadsAndProtocols) {
  for (const char* head : {"class_token", "concatenation"}) {
    for (const char* protocol : {"paper", "holdout"}) {
      Experiment experiment(small({std::string("model.head=") + head, std::string("data.protocol=") + protocol}));
      TemporaryFolder run;
      const auto ending = experiment.train_in(run.path());
      const bool is_holdout = std::string(protocol) == timeseries::kHoldoutProtocol;
      EXPECT_EQ(ending.metrics.contains(timeseries::kTestAccuracy), is_holdout);
      // Two thirds of the cases rise, so who always says so has 0.67.
      EXPECT_GT(ending.metrics.at(is_holdout ? timeseries::kTestAccuracy : timeseries::kAccuracy), 0.9) << head << " " << protocol;
    }
  }
}

TEST_F(TimeSeriesTask, HoldsBackTrainingCasesOnlyWhereAsked) {
  EXPECT_EQ(Experiment(small()).task()->train_size(), 30);
  EXPECT_EQ(Experiment(small({"data.protocol=holdout"})).task()->train_size(), 24);
  EXPECT_EQ(Experiment(small({"data.protocol=holdout", "data.validation_share=0.5"})).task()->train_size(), 15);
}

TEST_F(TimeSeriesTask, AResumedTrainingEndsWithTheBitsOfAnUninterruptedOne) {
  const auto assignments = small({"data.protocol=holdout", "train.epochs=4"});
  TemporaryFolder whole;
  Experiment(assignments).train_in(whole.path());
  TemporaryFolder parts;
  EXPECT_EQ(Experiment(assignments).train_in(parts.path(), 5).status, "interrupted");
  EXPECT_EQ(Experiment(assignments).train_in(parts.path()).status, "finished");
  const auto a = data::load_safetensors(whole.path() / train::kResumeCheckpoint);
  const auto b = data::load_safetensors(parts.path() / train::kResumeCheckpoint);
  ASSERT_EQ(a.tensors.size(), b.tensors.size());
  for (std::size_t i = 0; i < a.tensors.size(); ++i) {
    EXPECT_TRUE(at::equal(a.tensors[i].second, b.tensors[i].second)) << a.tensors[i].first;
  }
}

TEST_F(TimeSeriesTask, KeepsTheLaterOfEquals) {
  const auto selection = Experiment(small()).task()->selection();
  EXPECT_TRUE(selection.prefers(0.5, 0.5));
  EXPECT_TRUE(selection.prefers(0.6, 0.5));
  EXPECT_FALSE(selection.prefers(0.4, 0.5));
}

template <class Action>
std::string reason_of(const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "missing: " << part << "\nin: " << text;
}

TEST_F(TimeSeriesTask, SaysWhatIsWrong) {
  const auto making = [&](const std::vector<std::string>& more) {
    return reason_of([&] { static_cast<void>(Experiment(small(more)).task()); });
  };
  expect_contains(making({"data.name=JapanseVowels"}), "the nearest known is \"JapaneseVowels\"");
  expect_contains(making({"data.name=PEMS-SF"}), "PEMS-SF_TRAIN.ts");
  expect_contains(making({"data.folder=/no/such/folder"}), "\"/no/such/folder\"");
  expect_contains(making({"data.folder="}), "data.name or its folder in data.folder");
  expect_contains(making({"data.protocol=honest"}), "expected one of paper, holdout, got honest");
  expect_contains(making({"model.dim=15", "model.heads=3"}), "model.dim must be even");
}

TEST(StratifiedHoldout, TakesItsShareOfEveryClassAndNoCaseTwice) {
  std::vector<std::int64_t> labels;
  for (int i = 0; i < 100; ++i) labels.push_back(i % 10 == 0 ? 2 : i % 2);
  const std::vector<std::string> classes = {"a", "b", "c"};
  const auto holdout = data::stratified_holdout(labels, classes, 0.2, 7);
  std::set<std::int64_t> all(holdout.training.begin(), holdout.training.end());
  all.insert(holdout.validation.begin(), holdout.validation.end());
  EXPECT_EQ(all.size(), 100U);
  EXPECT_EQ(holdout.training.size() + holdout.validation.size(), 100U);
  for (std::int64_t label = 0; label < 3; ++label) {
    const auto of_class = [&](std::int64_t i) { return labels[i] == label; };
    const auto count = std::ranges::count(labels, label);
    EXPECT_EQ(std::ranges::count_if(holdout.validation, of_class), std::lround(0.2 * static_cast<double>(count)));
  }
  EXPECT_EQ(holdout.validation, data::stratified_holdout(labels, classes, 0.2, 7).validation);
  EXPECT_NE(holdout.validation, data::stratified_holdout(labels, classes, 0.2, 8).validation);
}

TEST(StratifiedHoldout, LeavesACaseOfEveryClassOnBothSidesOrRefuses) {
  const std::vector<std::string> classes = {"a", "b"};
  const auto holdout = data::stratified_holdout(std::vector<std::int64_t>{0, 0, 1, 1}, classes, 0.01, 0);
  EXPECT_EQ(holdout.training.size(), 2U);
  EXPECT_EQ(holdout.validation.size(), 2U);
  expect_contains(
      reason_of([&] { static_cast<void>(data::stratified_holdout(std::vector<std::int64_t>{0, 0, 1}, classes, 0.5, 0)); }),
      "the class \"b\" has 1 training case");
}

TEST(JapaneseVowels, AreLearnedInTwoEpochs) {
  if (!data::find_time_series({.name = "JapaneseVowels"})) {
    GTEST_SKIP() << "skipped: no JapaneseVowels in $QUEST_DATA or the cache; `quest train timeseries` fetches them";
  }
  Experiment experiment({"train.epochs=2", "train.monitor_every=0"});
  TemporaryFolder run;
  EXPECT_GT(experiment.train_in(run.path()).metrics.at(timeseries::kAccuracy), 0.4);
}

}  // namespace
}  // namespace quest::timeseries
