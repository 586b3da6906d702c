// Trainings that cannot start: what they say, and that they leave nothing behind.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/cli/run_quest.h"
#include "tests/cli/tiny_pictures.h"
#include "tests/testing/temporary_folder.h"

namespace quest::cli {
namespace {

namespace fs = std::filesystem;

constexpr int kUsage = 2;
constexpr int kFailure = 1;

// Works in a folder of its own, which is to stay as it is.
class RefusedTraining : public ::testing::Test {
 protected:
  RefusedTraining() { fs::current_path(folder_.path()); }
  ~RefusedTraining() override { fs::current_path(home_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_.path() / name).parent_path());
    std::ofstream(folder_.path() / name, std::ios::binary) << text;
  }
  [[nodiscard]] std::string contents() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      names.push_back(fs::relative(entry.path(), folder_.path()).string() + "\n");
    }
    std::ranges::sort(names);
    std::string all;
    for (const auto& name : names) all += name;
    return all;
  }
  void expect_refused(const std::string& arguments, int exit_code, const std::string& message) const {
    const auto before = contents();
    const auto outcome = run_quest(arguments);
    EXPECT_EQ(outcome.exit_code, exit_code) << arguments << "\n" << outcome.output;
    expect_contains(outcome, message);
    EXPECT_EQ(contents(), before) << arguments;
  }

  fs::path home_ = fs::current_path();
  testing::TemporaryFolder folder_;
};

struct BadTraining {
  const char* arguments;
  const char* message;
};

class BadTrainings : public RefusedTraining, public ::testing::WithParamInterface<BadTraining> {};

TEST_P(BadTrainings, EndWithTwoBeforeAnythingIsMade) {
  expect_refused(GetParam().arguments, kUsage, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    CommandLine, BadTrainings,
    ::testing::Values(
        BadTraining{"train", "expected a recipe"}, BadTraining{"train --resume", "--resume --run FOLDER"},
        BadTraining{"train --resume --run none", "\"none\" holds no run to go on with"},
        BadTraining{"train images/fashion-mnist-tyni", "the nearest is \"images/fashion-mnist-tiny\""},
        BadTraining{"train no/such.toml", "\"no/such.toml\" cannot be read"},
        BadTraining{"train images/fashion-mnist-tiny --set optimizer.lrr=1", "the nearest is \"optimizer.lr\""},
        BadTraining{"train images/fashion-mnist-tiny --set optimizer.lr=-1", "expected a number above 0, got -1"},
        BadTraining{"train images/fashion-mnist-tiny --set optimizer.lr=fast", "expected a number above 0, got fast"},
        BadTraining{"train images/fashion-mnist-tiny --set optimizer.lr=0.1,0.2",
                    "expected a number above 0, got 0.1,0.2"},
        BadTraining{"train images/fashion-mnist-tiny --set train.epochs=1.5",
                    "expected a whole number from 1, got 1.5"},
        BadTraining{"train images/fashion-mnist-tiny --set data.flip=perhaps", "data.flip: expected true or false"},
        BadTraining{"train images/fashion-mnist-tiny --set model.heads=7", "model.dim must be a multiple"},
        BadTraining{"train images/fashion-mnist-tiny --set lr", "expected key=value"},
        BadTraining{"train images/fashion-mnist-tiny --set task=imgae",
                    "there is no task \"imgae\"; the nearest is \"image\""},
        BadTraining{"train images/fashion-mnist-tiny --set task=toy", "there is no key"},
        BadTraining{"train images/fashion-mnist-tiny --device tpu", "--device"},
        BadTraining{"train images/fashion-mnist-tiny --json /no/such/folder/run.json", "/no/such/folder/run.json"},
        BadTraining{"train images/fashion-mnist-tiny --workers -1", "--workers"},
        BadTraining{"eval", "run is required"},
        BadTraining{"eval images/fashion-mnist-tiny", "a recipe needs the weights to evaluate: --weights FILE"},
        BadTraining{"eval no/such/run", "\"no/such/run\" is no run folder"},
        BadTraining{"recipes show images/fashion-mnist", "the nearest is \"images/fashion-mnist-tiny\""},
        BadTraining{"bench step", "recipe is required"},
        BadTraining{"bench step images/fashion-mnist-tyni", "the nearest is \"images/fashion-mnist-tiny\""},
        BadTraining{"bench step images/fashion-mnist-tiny --formulations qest", "expected one of standard"}));

struct BadRecipe {
  const char* name;
  const char* toml;
  const char* message;
};

class BadRecipes : public RefusedTraining, public ::testing::WithParamInterface<BadRecipe> {};

TEST_P(BadRecipes, EndWithTwoAndThePlaceOfTheMistake) {
  write("my.toml", GetParam().toml);
  expect_refused("train my.toml --run run", kUsage, GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadRecipes,
    ::testing::Values(
        BadRecipe{"without_task", "seed = 1\n", "my.toml:1:1: expected the key \"task\""},
        BadRecipe{"empty", "", "expected the key \"task\""},
        BadRecipe{"unknown_task", "task = \"imgae\"\n", "there is no task \"imgae\"; the nearest is \"image\""},
        BadRecipe{"task_is_a_number", "task = 3\n", "there is no task \"3\""},
        BadRecipe{"unknown_key", "task = \"image\"\n[optimizer]\nlrr = 1\n",
                  "my.toml:3:1: there is no key "
                  "\"optimizer.lrr\"; the nearest is "
                  "\"optimizer.lr\""},
        BadRecipe{"list_where_a_number_belongs", "task = \"image\"\n[optimizer]\nlr = [0.1, 0.2]\n",
                  "my.toml:3:1: optimizer.lr: expected a number above 0, got [0.1, 0.2]"},
        BadRecipe{"text_where_a_number_belongs", "task = \"image\"\n[train]\nepochs = \"ten\"\n",
                  "my.toml:3:1: train.epochs: expected a whole number from 1"},
        BadRecipe{"no_toml", "task = \"image\"\nseed = = 3\n", "my.toml:2:"},
        BadRecipe{"key_twice", "task = \"image\"\nseed = 1\nseed = 2\n", "my.toml:3:"},
        BadRecipe{"unknown_base", "base = \"images/fashion-mnist\"\n", "there is no recipe \"images/fashion-mnist\""}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(RefusedTraining, ForWantOfDataSaysHowToGetIt) {
  expect_refused("train images/fashion-mnist-tiny --data none --run runs/deep/run", kFailure, "To get it: apt-get");
  expect_refused("train images/fashion-mnist-tiny --data none", kFailure, "Fashion-MNIST was not found");
  fs::create_directories("mine");
  expect_refused("train images/fashion-mnist-tiny --data none --run mine", kFailure, "was not found");
}

TEST_F(RefusedTraining, ForDataThatIsBrokenNamesTheFile) {
  write_tiny_pictures("pictures");
  write("pictures/t10k-labels-idx1-ubyte", "no labels at all");
  expect_refused("train images/fashion-mnist-tiny --data pictures --run run", kFailure, "t10k-labels-idx1-ubyte");
}

TEST_F(RefusedTraining, AFolderThatCannotBeWrittenIsReportedFirst) {
  expect_refused("train images/fashion-mnist-tiny --run /proc/no/such/run", kFailure,
                 "the run folder \"/proc/no/such/run");
}

TEST_F(RefusedTraining, AFolderThatSomebodyTrainsIntoIsLeftAlone) {
  write_tiny_pictures("pictures");
  const auto outcome = run_quest(
      "train images/fashion-mnist-tiny --data pictures --set train.epochs=100000 --threads 1 --run run >/dev/null & "
      "child=$!; until grep -qs running run/run.json; do sleep 0.05; done; " QUEST_PROGRAM
      " train images/fashion-mnist-tiny --data pictures --set train.epochs=100000 --resume --run run 2>&1; code=$?; "
      "kill -KILL $child; exit $code");
  EXPECT_EQ(outcome.exit_code, kFailure) << outcome.output;
  expect_contains(outcome, "another process is training into \"run\"");
  EXPECT_TRUE(fs::exists("run/run.json"));
}

TEST_F(RefusedTraining, OfPackedRunsLeavesNothingEither) {
  // More tokens than any GPU's blocks hold, so that this is refused with a GPU too.
  expect_refused("train toy/spurious --device cuda --set data.tokens=1000 --run run", kFailure, "device cuda: ");
  expect_refused("train toy/spurious --dry-run --run run", kUsage, "--dry-run: ");
  expect_refused("train toy/spurious --dry-run --json plan.json --run run", kUsage, "--dry-run: ");
  expect_refused("train toy/spurious --workers 2 --run run", kUsage,
                 "--workers: the runs of this task load no batches");
  expect_refused("train toy/spurious --data somewhere --run run", kUsage, "makes its own data");
  expect_refused("train toy/spurious --json /no/such/folder/run.json", kUsage, "/no/such/folder/run.json");
}

}  // namespace
}  // namespace quest::cli
