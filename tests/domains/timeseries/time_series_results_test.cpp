#include "domains/timeseries/time_series_results.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "data/sets/uea_archive.h"
#include "tests/testing/temporary_folder.h"

namespace quest::timeseries {
namespace {

using testing::TemporaryFolder;

struct Evaluation {
  double accuracy;
  double test_accuracy;
};

class TimeSeriesResults : public ::testing::Test {
 protected:
  void add(const timeseries::TimeSeriesSetting& setting, int seed, const std::vector<Evaluation>& evaluations,
           const std::string& status = "finished", const std::string& more = "") const {
    const auto run = folder_.path() / timeseries::time_series_path(setting, seed);
    std::filesystem::create_directories(run);
    std::ofstream(run / "run.json") << R"({"status": ")" << status << "\"}";
    std::ofstream(run / "recipe.toml") << "seed = " << seed << "\n"
                                       << more << "[model]\nformulation = \"" << setting.formulation << "\"\nhead = \""
                                       << setting.head << "\"\n[data]\nname = \"" << setting.data_set
                                       << "\"\nprotocol = \"" << setting.protocol << "\"\nfolder = \"/" << seed
                                       << "\"\n";
    std::ofstream metrics(run / "metrics.jsonl");
    metrics << "{\"kind\":\"train\",\"step\":1,\"loss\":1.0}\n";
    for (const auto& [accuracy, test_accuracy] : evaluations) {
      metrics << R"({"kind":"eval","step":1,"epoch":1,"accuracy":)" << accuracy;
      if (setting.protocol == "holdout") metrics << ",\"test_accuracy\":" << test_accuracy;
      metrics << "}\n";
    }
  }
  [[nodiscard]] std::vector<timeseries::TimeSeriesSummary> summaries() const { return timeseries::summarize(timeseries::read_time_series(folder_.path())); }

  TemporaryFolder folder_;
};

const timeseries::TimeSeriesSetting kPaper{"Heartbeat", "paper", "class_token", "quest"};
const timeseries::TimeSeriesSetting kHoldout{"Heartbeat", "holdout", "class_token", "quest"};

TEST_F(TimeSeriesResults, AreTheBestOnTheTestSplitOrThatOfTheLastBestOnTheOther) {
  add(kPaper, 0, {{.accuracy = 0.5}, {.accuracy = 0.75}, {.accuracy = 0.25}});
  add(kHoldout, 0, {{0.5, 0.9}, {0.75, 0.4}, {0.75, 0.6}, {0.5, 1.0}});
  const auto found = summaries();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].setting, kPaper);
  EXPECT_DOUBLE_EQ(found[0].mean, 75.0);
  EXPECT_EQ(found[1].setting, kHoldout);
  EXPECT_DOUBLE_EQ(found[1].mean, 60.0);
}

TEST_F(TimeSeriesResults, CountTrainingsThatEndedWell) {
  add(kPaper, 0, {{.accuracy = 0.5}}, "stopped early");
  add(kPaper, 10, {{.accuracy = 0.7}});
  add(kPaper, 2, {{.accuracy = 0.6}});
  add(kPaper, 3, {{.accuracy = 0.9}}, "crashed at iteration 7");
  add(kPaper, 4, {{.accuracy = 0.9}}, "running");
  add(kPaper, 5, {}, "interrupted");
  EXPECT_EQ(timeseries::read_time_series(folder_.path()).size(), 6U);
  const auto found = summaries();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].accuracies, (std::vector<double>{50.0, 60.0, 70.0}));
  EXPECT_DOUBLE_EQ(found[0].mean, 60.0);
  EXPECT_DOUBLE_EQ(found[0].deviation, 10.0);
  EXPECT_DOUBLE_EQ(found[0].best, 70.0);
}

TEST_F(TimeSeriesResults, OfDifferentRecipesDoNotStandInOneTable) {
  add(kPaper, 0, {{.accuracy = 0.5}}, "finished", "epochs = 100\n");
  add(kPaper, 1, {{.accuracy = 0.5}}, "finished", "epochs = 2\n");
  try {
    static_cast<void>(summaries());
    FAIL() << "two recipes were taken for one";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("epochs is 100 and 2"), std::string::npos) << error.what();
  }
}

TEST_F(TimeSeriesResults, StandBesideThePaper) {
  add(kPaper, 0, {{.accuracy = 0.8}});
  add({"Heartbeat", "paper", "class_token", "standard"}, 0, {{.accuracy = 0.7}});
  add({"PEMS-SF", "paper", "class_token", "standard"}, 0, {{.accuracy = 0.1}});
  add({"Other", "holdout", "class_token", "standard"}, 0, {{0.1, 0.2}});
  const auto all = summaries();
  const auto comparison = timeseries::compare(timeseries::time_series_tables().front(), all);
  ASSERT_EQ(comparison.rows.size(), 11U) << "ten data sets of the paper, one of ours";
  const auto& heartbeat = comparison.rows[3];
  EXPECT_EQ(heartbeat.data_set, "Heartbeat");
  ASSERT_EQ(heartbeat.cells.size(), 2U);
  EXPECT_DOUBLE_EQ(heartbeat.cells[0].ours->mean, 70.0);
  EXPECT_DOUBLE_EQ(heartbeat.cells[1].paper.value(), 78.54);
  EXPECT_EQ(comparison.rows[5].cells[1].ours, nullptr);
  EXPECT_EQ(comparison.rows[0].protocol, "");
  EXPECT_EQ(comparison.rows[10].data_set, "Other");
  EXPECT_FALSE(comparison.rows[10].cells[0].paper);
  ASSERT_EQ(comparison.means.size(), 1U) << "only Heartbeat has both columns";
  EXPECT_EQ(comparison.means[0].data_sets, 1);
  EXPECT_DOUBLE_EQ(comparison.means[0].ours[1], 80.0);
  EXPECT_DOUBLE_EQ(comparison.means[0].paper[1], 78.54);
}

TEST_F(TimeSeriesResults, OfAnEmptyFolderAreNone) {
  EXPECT_TRUE(summaries().empty());
  EXPECT_TRUE(timeseries::read_time_series("/no/such/folder").empty());
}

TEST(PaperAccuracies, HaveTheMeansThatThePaperPrints) {
  const auto mean = [](const char* head, const char* formulation) {
    double sum = 0.0;
    for (const auto data_set : data::kUeaDataSets) sum += timeseries::paper_accuracy(data_set, head, formulation).value();
    return std::round(10.0 * sum) / 100.0;
  };
  EXPECT_NEAR(mean("concatenation", "standard"), 72.44, 0.011);
  EXPECT_NEAR(mean("class_token", "standard"), 72.90, 0.011);
  EXPECT_NEAR(mean("class_token", "qnorm"), 71.94, 0.011);
  EXPECT_NEAR(mean("class_token", "qknorm_ds"), 72.78, 0.011);
  EXPECT_NEAR(mean("class_token", "quest"), 73.53, 0.011);
  EXPECT_FALSE(timeseries::paper_accuracy("Heartbeat", "concatenation", "quest"));
  EXPECT_FALSE(timeseries::paper_accuracy("Other", "class_token", "quest"));
}

}  // namespace
}  // namespace quest::timeseries
