// Grid, outcomes, threads and the run folder of the spurious-attention experiment.

#include "domains/toy/toy.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <stdexcept>

#include "domains/toy/toy_folder.h"
#include "domains/toy/toy_read.h"
#include "domains/toy/toy_run.h"

namespace quest::toy {
namespace {

toy::ToySettings tiny_settings() {
  toy::ToySettings settings;
  settings.formulations = {"standard", "qknorm_hs"};
  settings.sizes = {.tokens = 5, .training_samples = 20, .test_samples = 10};
  settings.learning_rates = {0.001, 0.01};
  settings.weight_decays = {0.0, 0.1};
  settings.realizations = 2;
  settings.initializations = 3;
  settings.epochs = 2;
  return settings;
}

class ToyFolderTest : public ::testing::Test {
 protected:
  ToyFolderTest() { std::filesystem::remove_all(path_); }
  ~ToyFolderTest() override { std::filesystem::remove_all(path_); }

  static std::string text_of(const std::filesystem::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

  void train_into_folder(int threads, int groups) {
    toy::ToyFolder folder(path_, tiny_settings(), "test");
    std::atomic<int> finished = 0;
    toy::run_trainings(tiny_settings(), folder.unfinished(), threads,
                  {.on_finished =
                       [&](const std::vector<toy::ToyResult>& results) {
                         folder.add(results);
                         ++finished;
                       },
                   .should_stop = [&] { return finished >= groups; }});
  }

  std::vector<toy::ToyResult> stored() { return toy::ToyFolder(path_, tiny_settings(), "test").results(); }

  std::string failure() {
    try {
      static_cast<void>(stored());
    } catch (const std::runtime_error& error) {
      return error.what();
    }
    return "";
  }

  std::filesystem::path path_ = std::filesystem::temp_directory_path() / ("quest_toy_" + std::to_string(::getpid()));
};

std::string all_json(const std::vector<toy::ToyResult>& results) {
  std::string text;
  for (const auto& result : results) text += toy::to_json(result).dump() + "\n";
  return text;
}

TEST(ToyGrid, ThePapersHas4500Trainings) {
  const auto trainings = toy::trainings_of(toy::paper_settings());
  EXPECT_EQ(trainings.size(), 4500U);
  EXPECT_EQ(std::set<toy::ToyTraining>(trainings.begin(), trainings.end()).size(), 4500U);
}

TEST(ToyGrid, OutcomesAreThoseOfThePaper) {
  EXPECT_EQ(toy::outcome_of(0.99, 0.95), toy::Outcome::correct);
  EXPECT_EQ(toy::outcome_of(0.99, 0.90), toy::Outcome::other);
  EXPECT_EQ(toy::outcome_of(0.65, 0.30), toy::Outcome::biased);
  EXPECT_EQ(toy::outcome_of(0.65, 0.50), toy::Outcome::other);
  EXPECT_EQ(toy::outcome_of(0.12, 0.10), toy::Outcome::degenerate);
  EXPECT_EQ(toy::outcome_of(0.0, 0.0), toy::Outcome::degenerate);
}

TEST(ToyGrid, SuccessIsCountedPerCell) {
  const auto settings = tiny_settings();
  const auto result = [](double rate, float accuracy) {
    return toy::ToyResult{{"standard", rate, 0.1, 0, 0}, {{}, accuracy, accuracy}};
  };
  const std::vector<toy::ToyResult> results = {result(0.01, 1.0F), result(0.01, 0.1F), result(0.001, 0.1F)};
  const auto summary = toy::summarize(settings, results).front();
  EXPECT_EQ(summary.trainings, 3);
  EXPECT_EQ(summary.outcomes[0], 1);
  EXPECT_EQ(summary.success[1][1], 0.5);
  EXPECT_EQ(summary.success[0][1], 0.0);
  EXPECT_EQ(summary.success[0][0], std::nullopt);
}

TEST(ToyGrid, BadSettingsAreNamed) {
  const auto message = [](auto&& change) {
    auto settings = tiny_settings();
    change(settings);
    try {
      toy::check(settings);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto expect = [&](auto&& change, const std::string& words) {
    EXPECT_NE(message(change).find(words), std::string::npos) << message(change);
  };
  expect([](toy::ToySettings& s) { s.sizes.tokens = -1; }, "tokens: expected a number from 1");
  expect([](toy::ToySettings& s) { s.sizes.training_samples = 0; }, "samples: ");
  expect([](toy::ToySettings& s) { s.formulations = {"qest"}; }, "expected one of standard, quest");
  expect([](toy::ToySettings& s) { s.formulations = {"elliptical"}; }, "estimated from data");
  expect([](toy::ToySettings& s) { s.formulations = {"quest", "quest"}; }, "quest twice");
  expect([](toy::ToySettings& s) { s.learning_rates = {}; }, "at least one value");
  expect([](toy::ToySettings& s) { s.weight_decays = {-0.1}; }, "weight decays: expected values from 0");
  expect([](toy::ToySettings& s) { s.weight_decays = {NAN}; }, "weight decays: expected values from 0");
}

TEST_F(ToyFolderTest, ThreadsAndInterruptionsChangeNothing) {
  train_into_folder(1, 1'000);
  const auto at_once = all_json(stored());
  std::filesystem::remove_all(path_);
  train_into_folder(3, 1);
  EXPECT_LT(stored().size(), toy::trainings_of(tiny_settings()).size());
  train_into_folder(2, 1'000);
  EXPECT_EQ(stored().size(), toy::trainings_of(tiny_settings()).size());
  EXPECT_EQ(all_json(stored()), at_once);
}

TEST_F(ToyFolderTest, WhatIsFinishedIsNotTrainedAgain) {
  train_into_folder(2, 1'000);
  const auto before = text_of(path_ / "results.jsonl");
  train_into_folder(2, 1'000);
  EXPECT_EQ(text_of(path_ / "results.jsonl"), before);
}

TEST_F(ToyFolderTest, ACorruptedLineIsNamedAndTheFileKept) {
  train_into_folder(1, 1);
  auto text = text_of(path_ / "results.jsonl");
  text.insert(text.find('\n') + 1, "{\"formulation\": \n");
  std::ofstream(path_ / "results.jsonl") << text;
  EXPECT_NE(failure().find("line 2"), std::string::npos) << failure();
  EXPECT_EQ(text_of(path_ / "results.jsonl"), text);
}

TEST_F(ToyFolderTest, ATornRepeatedOrForeignLineIsNamed) {
  train_into_folder(1, 1);
  const auto text = text_of(path_ / "results.jsonl");
  const auto failure_with = [&](const std::string& content) {
    std::ofstream(path_ / "results.jsonl") << content;
    return failure();
  };
  EXPECT_NE(failure_with(text.substr(0, text.size() - 1)).find("a line without an end"), std::string::npos);
  EXPECT_NE(failure_with(text + text).find("an earlier line"), std::string::npos);
  auto foreign = nlohmann::json::parse(text.substr(0, text.find('\n')));
  foreign["realization"] = 99;
  EXPECT_NE(failure_with(foreign.dump() + "\n").find("not part of this run"), std::string::npos);
}

TEST_F(ToyFolderTest, AFolderOfAnotherRunIsRefused) {
  static_cast<void>(stored());
  auto other = tiny_settings();
  other.sizes.tokens = 6;
  EXPECT_THROW(toy::ToyFolder(path_, other, "test"), std::runtime_error);
  EXPECT_EQ(failure(), "");
}

TEST_F(ToyFolderTest, ARunWithoutFinalNormIsRefusedAndKeptApart) {
  train_into_folder(1, 1);
  EXPECT_EQ(toy::read_toy_run(path_).wiring_text(), "pre-norm");
  const auto results = text_of(path_ / "results.jsonl");
  auto content = nlohmann::json::parse(text_of(path_ / "settings.json"));
  content.erase("final_norm");
  std::ofstream(path_ / "settings.json") << content;
  EXPECT_NE(failure().find("had no norm before the classifier; choose another folder"), std::string::npos) << failure();
  EXPECT_EQ(text_of(path_ / "results.jsonl"), results);
  EXPECT_EQ(toy::read_toy_run(path_).wiring_text(), "pre-norm without final norm");
}

// The listing has never had one.
TEST_F(ToyFolderTest, AnEarlierRunOfTheListingGoesOn) {
  auto settings = tiny_settings();
  settings.wiring = Wiring::algorithm;
  static_cast<void>(toy::ToyFolder(path_, settings, "test").results());
  auto content = nlohmann::json::parse(text_of(path_ / "settings.json"));
  content.erase("final_norm");
  std::ofstream(path_ / "settings.json") << content;
  EXPECT_NO_THROW(toy::ToyFolder(path_, settings, "test"));
  EXPECT_EQ(toy::read_toy_run(path_).wiring_text(), "algorithm");
}

TEST_F(ToyFolderTest, ADivergedTrainingSurvivesTheFile) {
  toy::ToyResult result{toy::trainings_of(tiny_settings()).front(), {{{.loss = NAN, .entropy = 1.5F}}, 0.0F, 0.0F}};
  toy::ToyFolder(path_, tiny_settings(), "test").add({{result}});
  const auto read = stored().front();
  EXPECT_TRUE(std::isnan(read.figures.epochs[0].loss));
  EXPECT_EQ(read.figures.epochs[0].entropy, 1.5F);
}

TEST(toy::ToyRun, AFailingCallbackEndsTheRun) {
  const auto settings = tiny_settings();
  const auto fail = [](const std::vector<toy::ToyResult>&) { throw std::runtime_error("disk full"); };
  EXPECT_THROW(
      toy::run_trainings(settings, toy::trainings_of(settings), 2, {.on_finished = fail, .should_stop = [] { return false; }}),
      std::runtime_error);
}

}  // namespace
}  // namespace quest::experiments
