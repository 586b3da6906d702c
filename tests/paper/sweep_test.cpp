#include "paper/sweep.h"

#include <gtest/gtest.h>

#include "recipe/settings.h"
#include "tests/paper/refusals.h"

namespace quest::paper {
namespace {

using recipe::RecipeError;
using testing::refusal_of;
using Texts = std::vector<std::string>;

Grid grid_of(std::vector<Axis> axes, std::int64_t seeds = 1) {
  Grid grid;
  grid.place = "paper/x.toml:4:1: sweep";
  grid.recipe = "made-up/line";
  grid.axes = std::move(axes);
  grid.seeds = seeds;
  return grid;
}

Texts folders_of(std::span<const PlannedRun> runs) {
  Texts folders;
  for (const auto& run : runs) folders.push_back(run.folder.string());
  return folders;
}

TEST(Sweep, IsAllCombinationsSeedBySeed) {
  auto grid = grid_of({{"data.name", {"a", "b"}}, {"model.head", {"x", "y"}}}, 2);
  grid.set = {{"train.epochs", "3"}};
  grid.evaluations = {"calibration"};
  const auto runs = planned_runs({{grid}});
  EXPECT_EQ(folders_of(runs), (Texts{"a/x/seed-0", "a/y/seed-0", "b/x/seed-0", "b/y/seed-0", "a/x/seed-1", "a/y/seed-1",
                                     "b/x/seed-1", "b/y/seed-1"}));
  EXPECT_EQ(runs[5].settings, (Match{{"train.epochs", "3"}, {"data.name", "a"}, {"model.head", "y"}, {"seed", "1"}}));
  for (const auto& run : runs) {
    EXPECT_EQ(run.recipe, "made-up/line");
    EXPECT_EQ(run.place, "paper/x.toml:4:1: sweep");
    EXPECT_EQ(run.evaluations, Texts{"calibration"});
  }
}

TEST(Sweep, WithoutAxesIsItsSeeds) {
  EXPECT_EQ(folders_of(planned_runs({{grid_of({}, 2)}})), (Texts{"seed-0", "seed-1"}));
  EXPECT_TRUE(planned_runs({}).empty());
}

TEST(Sweep, ValuesBecomeNamesOfFolders) {
  const auto runs = planned_runs({{grid_of({{"data.folder", {"", "/data/x"}}})}});
  EXPECT_EQ(folders_of(runs), (Texts{"default/seed-0", "-data-x/seed-0"}));
  EXPECT_EQ(runs[1].settings.front().second, "/data/x");
}

TEST(Sweep, WhatGridsShareComesOnce) {
  const auto few = grid_of({{"model.head", {"x"}}, {"model.gain", {"g"}}}, 1);
  const auto many = grid_of({{"model.head", {"y", "x"}}, {"model.gain", {"g"}}}, 2);
  const auto runs = planned_runs({{few, many}});
  EXPECT_EQ(folders_of(runs), (Texts{"x/g/seed-0", "y/g/seed-0", "y/g/seed-1", "x/g/seed-1"}));
}

TEST(Sweep, RunsOfSeveralRecipesLieApart) {
  auto other = grid_of({{"model.head", {"x"}}});
  other.recipe = "made-up/curve";
  EXPECT_EQ(folders_of(planned_runs({{grid_of({{"model.head", {"x"}}}), other}})),
            (Texts{"made-up-line/x/seed-0", "made-up-curve/x/seed-0"}));
}

TEST(Sweep, TwoRunsDoNotShareAFolder) {
  auto deep = grid_of({{"model.head", {"x"}}});
  deep.place = "paper/x.toml:9:1: sweep";
  deep.set = {{"model.depth", "2"}};
  EXPECT_EQ(
      refusal_of<RecipeError>([&] { static_cast<void>(planned_runs({{grid_of({{"model.head", {"x"}}}), deep}})); }),
      "paper/x.toml:9:1: sweep: expected runs with folders of their own, got \"x/seed-0\" for a run other than the "
      "one of paper/x.toml:4:1: sweep; make what differs an axis of both");
  EXPECT_NE(
      refusal_of<RecipeError>([&] { static_cast<void>(planned_runs({{grid_of({{"data.folder", {"a/b", "a-b"}}})}})); }),
      "");
}

TEST(NarrowedSweep, HasOtherValuesAndSeeds) {
  const std::vector grids = {grid_of({{"data.name", {"a", "b"}}, {"model.head", {"x", "y"}}}, 10),
                             grid_of({{"data.name", {"c"}}})};
  const auto narrow = narrowed(grids, Texts{"data.name=b,d", "model.head=y"}, 2);
  EXPECT_EQ(narrow[0].axes[0].values, (Texts{"b", "d"}));
  EXPECT_EQ(narrow[0].axes[1].values, Texts{"y"});
  EXPECT_EQ(narrow[1].axes[0].values, (Texts{"b", "d"}));
  EXPECT_EQ(narrow[0].seeds, 2);
  EXPECT_EQ(narrow[1].seeds, 2);
  const auto same = narrowed(grids, {}, 0);
  EXPECT_EQ(same[0].seeds, 10);
  EXPECT_EQ(same[0].axes[0].values, (Texts{"a", "b"}));
}

TEST(NarrowedSweep, MayBeOfAnEmptyValue) {
  EXPECT_EQ(narrowed({grid_of({{"data.name", {"a"}}})}, Texts{"data.name="}, 0)[0].axes[0].values, Texts{""});
}

TEST(NarrowedSweep, NamesAKeyThatNothingVaries) {
  const std::vector grids = {grid_of({{"model.head", {"x"}}}), grid_of({{"data.name", {"c"}}})};
  const auto refusal = [&](const std::string& only) {
    return refusal_of<RecipeError>([&] { static_cast<void>(narrowed(grids, Texts{only}, 0)); });
  };
  const std::string expected =
      ": expected KEY=VALUE,VALUE with a key that this experiment varies: data.name, model.head";
  EXPECT_EQ(refusal("data.nmae=a"), "--only data.nmae=a" + expected);
  EXPECT_EQ(refusal("data.name"), "--only data.name" + expected);
}

}  // namespace
}  // namespace quest::paper
