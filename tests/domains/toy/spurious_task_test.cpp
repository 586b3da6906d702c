// Keys of a training, and what training many of them promises: whoever trains beside, on however many threads.

#include "domains/toy/spurious_task.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <list>
#include <map>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "domains/toy/engine/cpu/lane_models.h"
#include "domains/toy/engine/cpu/train.h"
#include "domains/toy/engine/cuda/train.h"
#include "domains/toy/spurious_result.h"
#include "recipe/recipe_files.h"

namespace quest::toy {
namespace {

using Results = std::map<std::size_t, std::string>;  // as they are kept, by their place

SpuriousSettings tiny_settings() {
  SpuriousSettings settings;
  settings.sizes = {.tokens = 5, .training_samples = 20, .test_samples = 10};
  settings.epochs = 2;
  return settings;
}

std::string text_of(const train::PackedResult& result) {
  std::string text = result.status + " " + result.series.dump();
  for (const auto& [name, value] : result.metrics) text += " " + name + "=" + std::to_string(value);
  return text;
}

// Two formulations × two data sets × learning rates and initialisations that fill no vector evenly.
std::vector<SpuriousSettings> a_grid() {
  std::vector<SpuriousSettings> grid;
  for (const auto* formulation : {"standard", "qknorm_hs"}) {
    for (const std::uint64_t realization : {0, 1}) {
      for (const double rate : {0.001, 0.01}) {
        for (std::uint64_t initialization = 0; initialization < 11; ++initialization) {
          auto settings = tiny_settings();
          settings.formulation = formulation_from_name(formulation);
          settings.realization = realization;
          settings.learning_rate = rate;
          settings.initialization = initialization;
          grid.push_back(settings);
        }
      }
    }
  }
  return grid;
}

// No two of them can share a vector.
std::vector<SpuriousSettings> one_of_each_kind() {
  std::vector<SpuriousSettings> all(8, tiny_settings());
  all[1].formulation = formulations::qknorm;
  all[2].wiring = engine::Wiring::algorithm;
  all[3].sizes.tokens = 9;
  all[4].sizes.training_samples = 33;
  all[5].seed = 1;
  all[6].epochs = 3;
  all[7].batch_size = 7;
  return all;
}

// One run after the other, as they were made.
class Runs {
 public:
  explicit Runs(std::span<const SpuriousSettings> settings) {
    for (const auto& one : settings) runs_.emplace_back(one);
    for (const auto& run : runs_) pointers_.push_back(&run);
  }

  [[nodiscard]] std::span<const domains::PackedRun* const> all() const { return pointers_; }

 private:
  std::list<SpuriousRun> runs_;
  std::vector<const domains::PackedRun*> pointers_;
};

domains::PackedSurroundings around(Results& results, int threads) {
  return {.device = "cpu",
          .threads = threads,
          .on_finished =
              [&results](std::span<const std::pair<std::size_t, train::PackedResult>> finished) {
                for (const auto& [place, result] : finished) {
                  EXPECT_TRUE(results.emplace(place, text_of(result)).second) << place << " came twice";
                }
              },
          .on_progress = [](double) {},
          .should_stop = [] { return false; }};
}

Results trained(std::span<const SpuriousSettings> settings, int threads) {
  Results results;
  SpuriousTask().train(Runs(settings).all(), around(results, threads));
  EXPECT_EQ(results.size(), settings.size());
  return results;
}

std::string alone(const SpuriousSettings& settings) {
  const auto data = engine::draw_realization(settings.sizes, settings.seed, settings.realization);
  const auto results =
      engine::cpu::train_together(recipe_of(settings), data, {{job_of(settings)}}, [] { return false; });
  return text_of(packed_result(results.value().front()));
}

void expect_alone(std::span<const SpuriousSettings> settings, const Results& results) {
  for (std::size_t i = 0; i < settings.size(); ++i) EXPECT_EQ(results.at(i), alone(settings[i])) << i;
}

recipe::Setting set(const std::string& assignment) { return recipe::setting_of_assignment(assignment); }

std::string refusal_of(const std::string& assignment) {
  SpuriousRun run;
  recipe::Fields fields;
  run.describe(fields);
  try {
    fields.apply({{set(assignment)}});
  } catch (const recipe::RecipeError& error) {
    return error.what();
  }
  return "";
}

TEST(SpuriousRun, TheRecipeSaysTheDefaults) {
  SpuriousRun run;
  recipe::Fields fields;
  run.describe(fields);
  const auto defaults = fields.toml();
  const auto settings = recipe::settings_of_recipe("toy/spurious");
  fields.apply(settings);
  EXPECT_EQ(fields.toml(), defaults);
  EXPECT_EQ(settings.size(), fields.entries().size()) << "the recipe says every key";
}

TEST(SpuriousRun, EveryKeyChangesTheTraining) {
  const std::map<std::string, std::string> others = {{"seed", "5"},
                                                     {"model.formulation", "qnorm"},
                                                     {"model.wiring", "algorithm"},
                                                     {"model.initialization", "6"},
                                                     {"data.tokens", "7"},
                                                     {"data.samples", "21"},
                                                     {"data.test_samples", "211"},
                                                     {"data.realization", "8"},
                                                     {"train.epochs", "3"},
                                                     {"train.batch_size", "9"},
                                                     {"optimizer.lr", "0.1"},
                                                     {"optimizer.weight_decay", "0.9"}};
  std::set<std::string> different = {alone(tiny_settings())};
  for (const auto& [key, value] : others) {
    SpuriousRun run(tiny_settings());
    recipe::Fields fields;
    run.describe(fields);
    EXPECT_EQ(fields.entries().size(), others.size() + 1) << "but for the task";
    fields.apply({{set(key + "=" + value)}});
    EXPECT_TRUE(different.insert(alone(run.settings())).second) << key;
  }
}

TEST(SpuriousRun, NamesTheKeyOfABadValue) {
  const auto expect = [](const std::string& assignment, const std::string& words) {
    EXPECT_NE(refusal_of(assignment).find(words), std::string::npos) << assignment << ": " << refusal_of(assignment);
  };
  expect("data.tokens=-1", "data.tokens");
  expect("data.tokens=1001", "a whole number from 1 to 1000");
  expect("data.samples=0", "data.samples");
  expect("data.test_samples=0", "data.test_samples");
  expect("train.batch_size=0", "train.batch_size");
  expect("train.epochs=0", "train.epochs");
  expect("optimizer.lr=nan", "optimizer.lr");
  expect("optimizer.weight_decay=-0.1", "a number from 0 to 10");
  expect("model.wiring=post-norm", "one of pre-norm, algorithm");
  expect("model.formulation=qest", "model.formulation");
  expect("model.formulation=elliptical", "model.formulation: expected one with a learned gain or none");
  EXPECT_EQ(refusal_of("model.formulation=qknorm"), "");
}

TEST(SpuriousTask, ThreadsAndCompanyChangeNothing) {
  const auto grid = a_grid();
  const auto on_one = trained(grid, 1);
  expect_alone(grid, on_one);
  EXPECT_EQ(trained(grid, 3), on_one);
}

TEST(SpuriousTask, TrainsOtherSizesSeedsAndWiringsInOneCall) {
  const auto settings = one_of_each_kind();
  const auto results = trained(settings, 2);
  expect_alone(settings, results);
  std::set<std::string> different;
  for (const auto& [place, result] : results) different.insert(result);
  EXPECT_EQ(different.size(), settings.size());
}

// Neighbours in the call are not neighbours in a vector; the place is what counts.
TEST(SpuriousTask, ResultsComeWithThePlaceOfTheirRun) {
  auto grid = a_grid();
  const auto in_order = trained(grid, 2);
  std::ranges::reverse(grid);
  const auto reversed = trained(grid, 2);
  for (std::size_t i = 0; i < grid.size(); ++i) EXPECT_EQ(reversed.at(i), in_order.at(grid.size() - 1 - i)) << i;
}

TEST(SpuriousTask, FillsVectorsWithRunsThatStandApart) {
  auto settings = std::vector(static_cast<std::size_t>(2 * engine::cpu::model_lanes()), tiny_settings());
  for (std::size_t i = 0; i < settings.size(); ++i) {
    settings[i].initialization = i;
    settings[i].realization = i % 2;
  }
  std::vector<std::size_t> groups;
  Results results;
  auto surroundings = around(results, 1);
  surroundings.on_finished = [&groups](const auto& finished) { groups.push_back(finished.size()); };
  SpuriousTask().train(Runs(settings).all(), surroundings);
  EXPECT_EQ(groups, std::vector(2, settings.size() / 2));
}

TEST(SpuriousTask, ProgressAddsUpToTheRuns) {
  auto settings = a_grid();
  settings[3].epochs = 5;
  Results results;
  double done = 0.0;
  auto surroundings = around(results, 3);
  surroundings.on_progress = [&done](double runs) { done += runs; };
  SpuriousTask().train(Runs(settings).all(), surroundings);
  EXPECT_NEAR(done, static_cast<double>(settings.size()), 1e-9);
}

TEST(SpuriousTask, CallbacksAreNeverAskedTwiceAtOnce) {
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto enter = [&] {
    most = std::max(most.load(), ++inside);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
    --inside;
  };
  const auto settings = a_grid();
  SpuriousTask().train(Runs(settings).all(), {.device = "cpu",
                                              .threads = 4,
                                              .on_finished = [&](const auto&) { enter(); },
                                              .on_progress = [&](double) { enter(); },
                                              .should_stop =
                                                  [&] {
                                                    enter();
                                                    return false;
                                                  }});
  EXPECT_EQ(most, 1);
}

TEST(SpuriousTask, AStopLeavesWholeResultsOnly) {
  const auto grid = a_grid();
  const auto all = trained(grid, 1);
  Results results;
  int asked = 0;
  auto surroundings = around(results, 2);
  surroundings.should_stop = [&asked] { return ++asked > 5; };
  SpuriousTask().train(Runs(grid).all(), surroundings);
  EXPECT_GT(results.size(), 0U);
  EXPECT_LT(results.size(), grid.size());
  for (const auto& [place, result] : results) EXPECT_EQ(result, all.at(place)) << place;
}

TEST(SpuriousTask, AStopBeforeTheStartTrainsNothing) {
  Results results;
  auto surroundings = around(results, 2);
  surroundings.should_stop = [] { return true; };
  surroundings.on_progress = [](double) { ADD_FAILURE() << "an epoch was trained"; };
  SpuriousTask().train(Runs(a_grid()).all(), surroundings);
  EXPECT_TRUE(results.empty());
}

TEST(SpuriousTask, AFailingCallbackEndsTheTraining) {
  Results results;
  auto surroundings = around(results, 2);
  surroundings.on_finished = [](const auto&) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(SpuriousTask().train(Runs(a_grid()).all(), surroundings), std::runtime_error);
}

TEST(SpuriousTask, NothingIsTrainedOfNothing) { EXPECT_TRUE(trained({}, 2).empty()); }

class ForeignRun : public domains::PackedRun {
  void describe(recipe::Fields& /*fields*/) override {}
};

template <typename Error>
std::string failure_of(std::span<const domains::PackedRun* const> runs,
                       const std::function<void(domains::PackedSurroundings&)>& change) {
  Results results;
  auto surroundings = around(results, 1);
  change(surroundings);
  try {
    SpuriousTask().train(runs, surroundings);
  } catch (const Error& error) {
    EXPECT_TRUE(results.empty()) << "refused before anything is trained";
    return error.what();
  }
  return "no exception";
}

TEST(SpuriousTask, RefusesWhatItCannotTrainBeforeTrainingAnything) {
  using Surroundings = domains::PackedSurroundings;
  using Invalid = std::invalid_argument;
  const Runs fine(std::vector{tiny_settings()});
  EXPECT_EQ(failure_of<Invalid>(fine.all(), [](Surroundings& given) { given.device = "tpu"; }),
            "device: expected auto, cpu or cuda, got \"tpu\"");
  EXPECT_EQ(failure_of<Invalid>(fine.all(), [](Surroundings& given) { given.threads = 0; }),
            "threads: expected a number from 1, got 0");
  std::vector two(2, tiny_settings());
  two.back().formulation = formulations::elliptical;
  EXPECT_EQ(failure_of<Invalid>(Runs(two).all(), [](Surroundings&) {}),
            "model.formulation: expected one with a learned gain or none, got \"elliptical\", whose gain is estimated "
            "from data that this task does not have");
  const ForeignRun foreign;
  const SpuriousRun own(tiny_settings());
  const std::vector<const domains::PackedRun*> mixed = {&own, &foreign};
  EXPECT_NE(failure_of<Invalid>(mixed, [](Surroundings&) {}).find("expected runs of the task \"toy\""),
            std::string::npos);
}

TEST(SpuriousTask, NamesWhyThereIsNoGpu) {
  auto settings = tiny_settings();
  settings.sizes.tokens = 1000;
  const auto obstacle = engine::cuda::sweep_obstacle(settings.sizes.tokens);
  ASSERT_FALSE(obstacle.empty()) << "no GPU has room for so many tokens";
  const auto failure =
      failure_of<std::runtime_error>(Runs(std::vector{settings}).all(), [](auto& given) { given.device = "cuda"; });
  EXPECT_EQ(failure, "device cuda: " + obstacle + "; or train on the device cpu");
}

// What no GPU takes is trained on the CPU, beside what one does.
TEST(SpuriousTask, OnAnyDeviceEveryRunIsTrained) {
  auto settings = one_of_each_kind();
  settings[3].sizes.tokens = 1000;
  settings[3].sizes.training_samples = 2;
  Results results;
  auto surroundings = around(results, 2);
  surroundings.device = "auto";
  SpuriousTask().train(Runs(settings).all(), surroundings);
  EXPECT_EQ(results.size(), settings.size());
  EXPECT_EQ(results.at(3), alone(settings[3]));
}

}  // namespace
}  // namespace quest::toy
