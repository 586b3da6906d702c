// How many runs paper/toy.toml plans.

#include <gtest/gtest.h>

#include <algorithm>

#include "paper/sweep.h"

namespace quest::paper {
namespace {

TEST(ToySweeps, PlanThePapersRuns) {
  const auto toy = std::ranges::find(experiments(), "toy", &Experiment::name);
  EXPECT_EQ(planned_runs(toy->sweep).size(), 6U * 5U * 6U * 5U * 5U)
      << "formulations, data sets, learning rates, weight decays, initialisations";
  EXPECT_EQ(planned_runs(toy->small).size(), 3U * 5U * 6U * 4U * 2U);
}

}  // namespace
}  // namespace quest::paper
