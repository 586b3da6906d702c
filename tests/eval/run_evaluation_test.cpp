#include "eval/run_evaluation.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <limits>

#include "eval/part_by_part.h"
#include "recipe/settings.h"
#include "tests/eval/fixed_classifier.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"
#include "tests/testing/threads_as_processes.h"
#include "tests/train/tiny_task.h"

namespace quest::eval {
namespace {

using testing::FixedClassifier;
using testing::has;
using testing::message_of;
using Json = nlohmann::ordered_json;

constexpr int kParts = 5;
int calls = 0;  // of all Counting together

// Sums over parts what the model's scale says.
class Counting final : public Evaluation {
 public:
  void describe(recipe::Fields& fields) override {
    fields.integer("counting.times", times_, recipe::IntegerRange::from(1), "how often");
  }
  [[nodiscard]] Findings run(const Subject& subject, const Callbacks& callbacks) override {
    auto& task = dynamic_cast<FixedClassifier&>(subject.task);
    const auto parts =
        part_by_part(subject, callbacks, {.name = "counting", .count = kParts, .width = 1}, [&](std::int64_t part) {
          ++calls;
          const auto logits = task.predict("test", 0, 1).logits;
          return std::vector<double>{static_cast<double>(times_ * part) * logits[0][0].item<double>()};
        });
    double sum = 0.0;
    for (const auto& part : parts) sum += part.front();
    return {.metrics = {{"sum", sum}, {"unknown", std::numeric_limits<double>::quiet_NaN()}},
            .figures = {{{"id", "counts"}, {"title", "Counts"}, {"caption", ""}, {"panels", Json::array()}},
                        {{"id", "others"}, {"title", "Others"}, {"caption", ""}, {"panels", Json::array()}}}};
  }

 private:
  std::int64_t times_ = 1;
};

std::unique_ptr<Evaluation> make_counting() { return std::make_unique<Counting>(); }

std::vector<EvaluationEntry> known() {
  const auto shared = evaluations();
  std::vector<EvaluationEntry> all(shared.begin(), shared.end());
  all.push_back({"counting", "counts", make_counting});
  return all;
}

class RunEvaluation : public testing::FolderFixture {
 protected:
  RunEvaluation() { calls = 0; }

  [[nodiscard]] std::filesystem::path run() const { return in_folder("run"); }
  [[nodiscard]] Json json(const std::string& name) const { return Json::parse(testing::text_of(run() / name)); }

  Findings evaluate(Request request, const std::vector<std::string>& assignments = {}, int most_parts = kParts) {
    for (const auto& assignment : assignments) {
      request.settings.push_back(recipe::setting_of_assignment(assignment));
    }
    Callbacks callbacks;
    callbacks.should_stop = [most_parts]() mutable { return most_parts-- == 0; };
    return run_evaluation(request, known(), {.task = task_, .recipe = recipe_, .processes = *alone_, .scratch = {}},
                          callbacks);
  }
  Findings count(const std::vector<std::string>& assignments = {}, int most_parts = kParts) {
    return evaluate({.name = "counting", .run = run(), .facts = {{"weights", "best.safetensors"}}}, assignments,
                    most_parts);
  }
  void stop_after(int parts) {
    EXPECT_THROW((void)count({}, parts), Stopped);
    EXPECT_EQ(calls, parts);
    EXPECT_TRUE(std::filesystem::exists(run() / "evaluations/unfinished/counting"));
    EXPECT_FALSE(std::filesystem::exists(run() / "evaluations/counting.json"));
  }

  FixedClassifier task_{torch::ones({6, 2}), torch::zeros({6}, at::kLong), 4};
  train::Recipe recipe_{.task = "fixed"};
  std::unique_ptr<train::Communicator> alone_ = train::communicator_from_environment(at::kCPU);
};

TEST_F(RunEvaluation, WritesNumbersAndFiguresIntoTheRun) {
  const auto findings = count({"counting.times=3"});
  EXPECT_EQ(findings.metrics.at("sum"), 30.0);
  EXPECT_EQ(testing::text_of(run() / "evaluations/counting.json"), R"({
  "evaluation": "counting",
  "weights": "best.safetensors",
  "options": {
    "times": 3
  },
  "metrics": {
    "sum": 30.0,
    "unknown": null
  }
}
)");
  EXPECT_EQ(json("figures/counts.json")["title"], "Counts");
  EXPECT_EQ(json("figures/others.json")["title"], "Others");
  EXPECT_FALSE(std::filesystem::exists(run() / "evaluations/unfinished"));
}

TEST_F(RunEvaluation, CalibrationSaysWhatItWasOf) {
  (void)evaluate({.name = "calibration", .run = run()}, {"calibration.bins=4"});
  const auto json = this->json("evaluations/calibration.json");
  EXPECT_EQ(json["options"], (Json{{"split", "test"}, {"bins", 4}}));
  EXPECT_EQ(json["metrics"]["samples"], 6.0);
  EXPECT_EQ(this->json("figures/calibration.json")["id"], "calibration");
}

TEST_F(RunEvaluation, OfNumbersThatAreNoneLeavesAFileThatCanBeRead) {
  task_.model().named_parameters()["scale"].detach().fill_(std::numeric_limits<float>::quiet_NaN());
  (void)evaluate({.name = "calibration", .run = run()});
  EXPECT_TRUE(json("evaluations/calibration.json")["metrics"]["nll"].is_null());
  EXPECT_EQ(json("evaluations/calibration.json")["metrics"]["samples"], 6.0);
  EXPECT_TRUE(json("figures/calibration.json")["panels"].is_array());
}

TEST_F(RunEvaluation, WithoutARunNothingIsWritten) {
  EXPECT_EQ(evaluate({.name = "counting"}).metrics.at("sum"), 10.0);
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(RunEvaluation, TheModelIsInEvaluationModeWithoutGradientsAndTheCallerIsNot) {
  task_.model().train();
  (void)evaluate({.name = "calibration"});
  EXPECT_FALSE(task_.had_gradients);
  EXPECT_FALSE(task_.was_training);
  EXPECT_TRUE(at::GradMode::is_enabled());
}

TEST_F(RunEvaluation, GoesOnAfterAStop) {
  stop_after(3);
  EXPECT_EQ(count().metrics.at("sum"), 10.0);
  EXPECT_EQ(calls, kParts);
  EXPECT_FALSE(std::filesystem::exists(run() / "evaluations/unfinished"));
}

TEST_F(RunEvaluation, DoneAgainItIsComputedAgain) {
  (void)count();
  (void)count();
  EXPECT_EQ(calls, 2 * kParts) << "what is finished is kept in the numbers alone";
}

TEST_F(RunEvaluation, PartsOfOtherWeightsAreNotTaken) {
  stop_after(3);
  task_.model().named_parameters()["scale"].detach().fill_(2.0F);
  EXPECT_EQ(count().metrics.at("sum"), 20.0);
  EXPECT_EQ(calls, 3 + kParts);
}

TEST_F(RunEvaluation, PartsWithOtherOptionsAreNotTaken) {
  stop_after(3);
  EXPECT_EQ(count({"counting.times=2"}).metrics.at("sum"), 20.0);
  EXPECT_EQ(calls, 3 + kParts);
}

TEST_F(RunEvaluation, PartsOfOtherFactsOrPrecisionAreNotTaken) {
  stop_after(3);
  (void)evaluate({.name = "counting", .run = run(), .facts = {{"weights", "last.safetensors"}}});
  EXPECT_EQ(calls, 3 + kParts);
  std::filesystem::remove(run() / "evaluations/counting.json");
  calls = 0;
  stop_after(3);
  recipe_.train.precision = "bfloat16";
  (void)count();
  EXPECT_EQ(calls, 3 + kParts);
}

TEST_F(RunEvaluation, WhatIsOfNoUseToAnybodyIsRemoved) {
  stop_after(3);
  EXPECT_THROW((void)count({"counting.times=2"}, 1), Stopped);
  const std::filesystem::directory_iterator kept(run() / "evaluations/unfinished/counting");
  EXPECT_EQ(std::distance(begin(kept), end(kept)), 1);
}

TEST_F(RunEvaluation, StoppedOnesOfOtherEvaluationsStay) {
  stop_after(2);
  (void)evaluate({.name = "calibration", .run = run()});
  EXPECT_EQ(count().metrics.at("sum"), 10.0);
  EXPECT_EQ(calls, kParts);
}

TEST_F(RunEvaluation, ProcessesShareItAndOneWrites) {
  std::atomic<int> done = 0;
  testing::as_processes(2, [&](train::Communicator& processes) {
    FixedClassifier task(torch::randn({23, 3}, at::make_generator<at::CPUGeneratorImpl>(5)),
                         torch::zeros({23}, at::kLong), 4);
    const auto findings = run_evaluation({.name = "calibration", .run = run()}, known(),
                                         {.task = task, .recipe = recipe_, .processes = processes, .scratch = {}});
    EXPECT_EQ(findings.metrics.at("samples"), 23.0);
    EXPECT_EQ(task.asked.size(), 3U) << "each half of the six batches";
    ++done;
  });
  EXPECT_EQ(done, 2);
  EXPECT_EQ(json("evaluations/calibration.json")["metrics"]["samples"], 23.0);
  EXPECT_FALSE(std::filesystem::exists(run() / "evaluations/unfinished"));
}

TEST_F(RunEvaluation, AnUnknownNameIsToldWithTheNearestAndAll) {
  const auto message = message_of([&] { (void)evaluate({.name = "calibraton", .run = run()}); });
  EXPECT_TRUE(has(message, "there is no evaluation \"calibraton\"; the nearest is \"calibration\" of "));
  EXPECT_TRUE(has(message, "counting"));
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST_F(RunEvaluation, AnUnknownOptionIsToldWithTheNearest) {
  const auto message = message_of([&] { (void)evaluate({.name = "calibration"}, {"calibration.bin=4"}); });
  EXPECT_TRUE(has(message, "calibration.bin"));
  EXPECT_TRUE(has(message, "the nearest is \"calibration.bins\""));
  EXPECT_THROW((void)evaluate({.name = "calibration"}, {"calibration.bins=many"}), recipe::RecipeError);
}

TEST_F(RunEvaluation, ATaskThatDoesNotFitIsToldWhatItLacks) {
  testing::TinyTask tiny;
  recipe_.task = "tiny";
  const auto message = message_of([&] {
    (void)run_evaluation({.name = "calibration", .run = run()}, known(),
                         {.task = tiny, .recipe = recipe_, .processes = *alone_, .scratch = {}});
  });
  EXPECT_EQ(message,
            "the evaluation \"calibration\" needs a task that classifies (it has logits); the task \"tiny\" does not");
  EXPECT_FALSE(std::filesystem::exists(run()));
}

TEST(TakeSettings, TakesThoseOfTheEvaluationAndKeepsTheOrderOfBoth) {
  std::vector<recipe::Setting> settings;
  for (const char* text : {"a.b=1", "pgd.steps=2", "pgdx.steps=3", "pgd.size=4", "c=5"}) {
    settings.push_back(recipe::setting_of_assignment(text));
  }
  const auto taken = take_settings(settings, "pgd");
  const auto keys = [](const std::vector<recipe::Setting>& of) {
    std::string text;
    for (const auto& setting : of) text += setting.key + " ";
    return text;
  };
  EXPECT_EQ(keys(taken), "pgd.steps pgd.size ");
  EXPECT_EQ(keys(settings), "a.b pgdx.steps c ");
}

TEST(Evaluations, HaveNamesOfTheirOwnAndSayWhatTheyDo) {
  std::vector<std::string_view> names;
  for (const auto& entry : evaluations()) {
    names.push_back(entry.name);
    EXPECT_FALSE(entry.summary.empty()) << entry.name;
    EXPECT_NE(entry.make(), nullptr) << entry.name;
  }
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
}

}  // namespace
}  // namespace quest::eval
