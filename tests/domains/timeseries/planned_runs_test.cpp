// How many runs paper/timeseries.toml plans.

#include <gtest/gtest.h>

#include <algorithm>

#include "paper/sweep.h"

namespace quest::paper {
namespace {

TEST(TimeSeriesSweeps, PlanThePapersRuns) {
  const auto series = std::ranges::find(experiments(), "timeseries", &Experiment::name);
  EXPECT_EQ(planned_runs(series->sweep).size(), 10U * 2U * 5U * 10U)
      << "data sets, protocols, heads and formulations, seeds";
  EXPECT_EQ(planned_runs(series->small).size(), 2U * 2U * 3U) << "protocols, formulations, seeds";
}

}  // namespace
}  // namespace quest::paper
