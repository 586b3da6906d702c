// The files of paper/ against each other and, where its source is at hand, the paper itself.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "paper/experiment.h"
#include "paper/number_text.h"
#include "paper/sweep.h"
#include "tests/paper/made_up_runs.h"
#include "tests/paper/tex_table.h"
#include "tests/testing/temporary_folder.h"

namespace quest::paper {
namespace {

// Of the paper's own tables and figures; a domain may have more.
std::set<std::string> papers_labels() {
  std::set<std::string> labels;
  const auto add = [&labels](const std::string& name, int count) {
    for (int i = 1; i <= count; ++i) labels.insert(name + std::to_string(i));
  };
  add("Figure ", 5);
  add("Table ", 10);
  add("Figure A", 8);
  add("Table A", 14);
  return labels;
}

std::vector<const Item*> papers_items(const Experiment& experiment) {
  const auto labels = papers_labels();
  std::vector<const Item*> items;
  for (const auto& item : experiment.items) {
    if (labels.contains(item.label)) items.push_back(&item);
  }
  return items;
}

std::vector<const Item*> papers_items() {
  std::vector<const Item*> items;
  for (const auto& experiment : experiments()) std::ranges::copy(papers_items(experiment), std::back_inserter(items));
  return items;
}

const Item& item_called(const std::string& label) {
  const auto items = papers_items();
  return **std::ranges::find(items, label, &Item::label);
}

TEST(PaperFiles, HoldEveryTableAndFigureOnce) {
  std::multiset<std::string> labels;
  for (const Item* item : papers_items()) labels.insert(item->label);
  const auto expected = papers_labels();
  EXPECT_EQ(labels, std::multiset<std::string>(expected.begin(), expected.end()));
}

TEST(PaperFiles, ClaimToRunOnlyWhatASweepTrains) {
  for (const auto& experiment : experiments()) {
    for (const auto& item : experiment.items) {
      const bool runs = item.state == State::full_size || item.state == State::small_version;
      if (runs) {
        EXPECT_FALSE(experiment.sweep.empty()) << item.label;
      }
      const auto has_match = [](const std::vector<Line>& lines) {
        return std::ranges::any_of(lines, [](const Line& line) { return line.match.has_value(); });
      };
      if (!item.rows.empty()) {
        EXPECT_EQ(runs, has_match(item.rows) && has_match(item.columns)) << item.label;
      }
    }
  }
}

TEST(PaperFiles, EveryTableOfResultsHasAHeadline) {
  for (const Item* item : papers_items()) {
    if (item->metric_name.empty()) continue;
    EXPECT_TRUE(item->headline) << item->label;
  }
}

// What the sweeps' runs have in their recipes, as far as the experiment's file says it.
std::map<std::string, std::set<std::string>> trained_values(const Experiment& experiment) {
  std::map<std::string, std::set<std::string>> trained;
  for (const auto* grids : {&experiment.sweep, &experiment.small}) {
    for (const auto& run : planned_runs(*grids)) {
      trained["recipe"].insert(canonical_value(run.recipe));
      for (const auto& [key, value] : run.settings) trained[key].insert(canonical_value(value));
    }
  }
  return trained;
}

// Settings that rows and columns ask for and no sweep sets: they would match all runs or none.
std::vector<std::string> settings_without_runs(const Experiment& experiment) {
  auto trained = trained_values(experiment);
  std::vector<std::string> found;
  for (const auto& item : experiment.items) {
    for (const auto* lines : {&item.rows, &item.columns}) {
      for (const auto& line : *lines) {
        for (const auto& [key, value] : line.match.value_or(Match{})) {
          if (!trained[key].contains(canonical_value(value))) {
            found.push_back(line.match_place + " " + key + " = " + value);
          }
        }
      }
    }
  }
  return found;
}

TEST(PaperFiles, TablesAskForWhatSweepsTrain) {
  for (const auto& experiment : experiments()) {
    for (const auto& setting : settings_without_runs(experiment)) ADD_FAILURE() << setting;
    EXPECT_TRUE(experiment.split.empty() || trained_values(experiment).contains(experiment.split)) << experiment.name;
  }
}

TEST(PaperFiles, WhatNoSweepTrainsIsFound) {
  const auto found_in = [](const std::string& match) {
    return settings_without_runs(experiment_of("metric = \"error\"\ncolumns = [{ title = \"error\", match = { " +
                                                   match + " } }]\nrows = [{ title = \"all\", match = {} }]\n",
                                               "", "optimizer.lr = [0.001]\n[sweep.set]\nmodel.depth = 2\n"))
        .size();
  };
  EXPECT_EQ(found_in("model.head = \"mean\""), 0U);
  EXPECT_EQ(found_in("optimizer.lr = 1e-3"), 0U) << "however it is written";
  EXPECT_EQ(found_in("recipe = \"made-up/line\""), 0U);
  EXPECT_EQ(found_in("model.depth = 2"), 0U) << "what all runs share";
  EXPECT_EQ(found_in("model.head = \"last\""), 1U);
  EXPECT_EQ(found_in("recipe = \"made-up/curve\""), 1U);
  EXPECT_EQ(found_in("model.depth = 3"), 1U);
  EXPECT_EQ(found_in("model.width = 2"), 1U);
}

TEST(PaperFiles, ThePapersSweepsHaveASmallerVersion) {
  for (const auto& experiment : experiments()) {
    if (papers_items(experiment).empty()) continue;
    EXPECT_EQ(experiment.sweep.empty(), experiment.small.empty()) << experiment.name;
  }
}

TEST(PaperFiles, MeansOfTimeSeriesAreThoseThatThePaperPrints) {
  const auto mean = [](const char* label, const std::string& column) {
    const auto& item = item_called(label);
    const auto place = std::ranges::find(item.columns, column, &Line::title) - item.columns.begin();
    double sum = 0.0;
    for (const auto& numbers : item.numbers) sum += numbers[static_cast<std::size_t>(place)]->value.value();
    return sum / static_cast<double>(item.numbers.size());
  };
  constexpr double kHalfADigit = 0.005 + 1e-9;
  EXPECT_NEAR(mean("Table A7", "Standard"), 72.44, kHalfADigit);
  EXPECT_NEAR(mean("Table A7", "Standard + CLS"), 72.90, kHalfADigit);
  EXPECT_NEAR(mean("Table A8", "Standard"), 72.90, kHalfADigit);
  EXPECT_NEAR(mean("Table A8", "QNorm"), 71.94, kHalfADigit);
  EXPECT_NEAR(mean("Table A8", "QKNorm"), 72.78, kHalfADigit);
  EXPECT_NEAR(mean("Table A8", "QUEST"), 73.53, kHalfADigit);
  EXPECT_NEAR(mean("Table 7", "Standard"), 72.90, kHalfADigit);
  EXPECT_NEAR(mean("Table 7", "QUEST"), 73.53, kHalfADigit);
}

// Every table has a \label, and no figure: those numbers are read off drawings, or said in the text.
TEST(PaperFiles, TablesSayWhereTheirNumbersComeFrom) {
  for (const Item* item : papers_items()) {
    EXPECT_EQ(item->label.starts_with("Table"), !item->tex.empty()) << item->label;
  }
}

class PaperSource : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto file = std::filesystem::path(QUEST_SOURCES) / "../shared/paper.tex";
    if (!std::filesystem::exists(file)) GTEST_SKIP() << "skipped: there is no " << file << ", the paper's source";
    source_ = testing::text_of(file);
    // A misprint of Table A11.
    const std::string misprint = "5.23mi &n 73s &";
    const auto place = source_.find(misprint);
    if (place != std::string::npos) source_.replace(place, misprint.size(), "5.23min & 73s &");
  }

  std::string source_;
};

TEST_F(PaperSource, HasTheNumbersOfEveryTable) {
  for (const Item* item : papers_items()) {
    if (item->tex.empty()) continue;
    auto rows = testing::tex_rows(source_, item->tex);
    ASSERT_FALSE(rows.empty()) << item->label << ": no \\label{" << item->tex << "}";
    if (item->label == "Table A14") {
      // Its rows are the formulations; the first line names the data sets.
      rows.insert(rows.begin(), {"", "Aircraft", "Caltech101", "DTD", "Flowers", "Food", "Pets", "SUN397", "Average"});
      rows = testing::transposed(rows);
      rows.erase(rows.begin());
    }
    for (const auto& difference : testing::differences(*item, rows)) ADD_FAILURE() << item->label << ": " << difference;
  }
}

TEST_F(PaperSource, HasNoOtherTable) {
  std::multiset<std::string> ours;
  for (const Item* item : papers_items()) {
    if (!item->tex.empty()) ours.insert(item->tex);
  }
  const auto labels = testing::tex_table_labels(source_);
  EXPECT_EQ(ours, std::multiset<std::string>(labels.begin(), labels.end()));
}

TEST_F(PaperSource, SaysHowOftenQuestSucceeds) {
  for (const char* label : {"Figure 3", "Figure A1"}) {
    const auto& item = item_called(label);
    const auto row = std::ranges::find(item.rows, "quest", &Line::title) - item.rows.begin();
    const auto text = item.numbers[static_cast<std::size_t>(row)].front()->text;
    EXPECT_NE(source_.find("overall success rate of " + text + "\\%"), std::string::npos) << label;
  }
}

}  // namespace
}  // namespace quest::paper
