#include "bench/step_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

namespace quest::bench {
namespace {

// A bare step of 10 ms; the engine adds 1 ms, and looking at a step 4 ms, every second time.
StepTimes times() {
  return {.formulation = "quest",
          .bare = 10.0,
          .update = 2.0,
          .load = 0.5,
          .unwatched = 11.0,
          .watched = 15.0,
          .monitor_every = 2,
          .python = 26.0,
          .relative_spread = 0.1};
}

std::vector<std::string> titles(const base::Table& table) {
  std::vector<std::string> all;
  for (const auto& column : table.columns) all.push_back(column.title);
  return all;
}

std::vector<std::string> texts(const std::vector<base::Cell>& row) {
  std::vector<std::string> all;
  for (const auto& cell : row) all.push_back(cell.text);
  return all;
}

std::set<std::string> keys(const nlohmann::json& object) {
  std::set<std::string> all;
  for (const auto& [key, value] : object.items()) all.insert(key);
  return all;
}

TEST(StepTimes, CountTheMonitorAsOftenAsItLooks) {
  EXPECT_DOUBLE_EQ(times().monitor(), 2.0);
  EXPECT_DOUBLE_EQ(times().engine(), 13.0);
  EXPECT_DOUBLE_EQ(times().overhead(), 0.3);
  auto never = times();
  never.monitor_every = 0;
  EXPECT_EQ(never.monitor(), 0.0);
  EXPECT_EQ(never.engine(), 11.0);
  auto nothing_to_watch = times();
  nothing_to_watch.watched.reset();
  EXPECT_EQ(nothing_to_watch.engine(), 11.0);
  EXPECT_FALSE(times().engine_with_workers());
  auto ahead = times();
  ahead.unwatched_with_workers = 10.5;
  EXPECT_DOUBLE_EQ(*ahead.engine_with_workers(), 12.5);
}

TEST(StepReport, TableHasOneLineAFormulation) {
  const std::vector rows = {times()};
  const auto table = step_table(rows, 0);
  EXPECT_EQ(titles(table), (std::vector<std::string>{"formulation", "engine ms", "bare ms", "overhead", "of it monitor",
                                                     "optimiser", "load ms", "Python ms", "vs Python"}));
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(texts(table.rows[0]), (std::vector<std::string>{"quest", "13.0", "10.0", "30.0 %", "18.2 %", "20.0 %",
                                                            "0.500", "26.0", "2.00x"}));
  EXPECT_EQ(table.rows[0][1].value, 13.0);
}

TEST(StepReport, WhatWasNotMeasuredIsNoNumber) {
  auto without = times();
  without.update.reset();
  without.watched.reset();
  without.python.reset();
  without.python_problem = "the task declares none";
  const std::vector rows = {without};
  const auto table = step_table(rows, 0);
  EXPECT_EQ(table.columns.size(), 7U) << "no column of Python";
  EXPECT_EQ(texts(table.rows[0])[4], "-");
  EXPECT_EQ(texts(table.rows[0])[5], "-");
  const std::vector mixed = {times(), without};
  EXPECT_EQ(texts(step_table(mixed, 0).rows[1]).back(), "-");

  const auto json = nlohmann::json::parse(step_json(rows, 0));
  EXPECT_EQ(keys(json[0]), (std::set<std::string>{"formulation", "engine_ms", "bare_ms", "load_ms", "overhead",
                                                  "monitor_share", "relative_spread", "python_missing"}));
  EXPECT_EQ(json[0]["python_missing"], "the task declares none");
  EXPECT_EQ(json[0]["monitor_share"], 0.0);
}

TEST(StepReport, WorkersHaveColumnsOfTheirOwn) {
  auto ahead = times();
  ahead.unwatched_with_workers = 4.5;
  const std::vector rows = {ahead};
  const auto one = step_table(rows, 1);
  EXPECT_EQ(titles(one)[7], "engine, 1 worker");
  EXPECT_EQ(titles(step_table(rows, 3))[7], "engine, 3 workers");
  EXPECT_EQ(texts(one.rows[0])[7], "6.50");
  EXPECT_EQ(texts(one.rows[0])[8], "2.00x");
  const auto json = nlohmann::json::parse(step_json(rows, 3));
  EXPECT_EQ(json[0]["workers"], 3);
  EXPECT_DOUBLE_EQ(json[0]["engine_workers_ms"], 6.5);
}

TEST(StepReport, JsonHasExactlyTheDocumentedKeys) {
  const std::vector rows = {times(), times()};
  const auto json = nlohmann::json::parse(step_json(rows, 0));
  ASSERT_EQ(json.size(), 2U);
  EXPECT_EQ(keys(json[1]), (std::set<std::string>{"formulation", "engine_ms", "bare_ms", "load_ms", "overhead",
                                                  "monitor_share", "relative_spread", "optimiser_share", "python_ms"}));
  EXPECT_DOUBLE_EQ(json[0]["engine_ms"], 13.0);
  EXPECT_DOUBLE_EQ(json[0]["monitor_share"], 2.0 / 11.0);
  EXPECT_DOUBLE_EQ(json[0]["optimiser_share"], 0.2);
}

TEST(PackedReport, ShowsRatesAndWhatACoreNeeds) {
  const std::vector<PackedRate> rates = {{.formulation = "quest", .ours = 100.0, .python = 0.5},
                                         {.formulation = "standard", .ours = 50.0, .python_problem = "no Python"}};
  const auto table = packed_table(rates, 2);
  EXPECT_EQ(texts(table.rows[0]), (std::vector<std::string>{"quest", "100", "0.500", "0.0200", "4.00", "200x"}));
  EXPECT_EQ(texts(table.rows[1]), (std::vector<std::string>{"standard", "50.0", "-", "0.0400", "-", "-"}));
  const auto json = nlohmann::json::parse(packed_json(rates));
  EXPECT_EQ(keys(json[0]), (std::set<std::string>{"formulation", "ours_per_second", "python_per_second"}));
  EXPECT_EQ(json[1]["python_missing"], "no Python");
  EXPECT_EQ(json[1]["ours_per_second"], 50.0);
}

}  // namespace
}  // namespace quest::bench
