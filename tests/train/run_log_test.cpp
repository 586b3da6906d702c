#include "train/run/run_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "tests/testing/temporary_folder.h"

namespace quest::train {
namespace {

using testing::TemporaryFolder;
using testing::text_of;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

StepReport report(std::int64_t step) {
  const auto count = static_cast<double>(step);
  return {.step = step,
          .epoch = count / 100.0,
          .loss = 2.0 / count,
          .lr = 1e-3,
          .grad_norm = 0.5,
          .samples_per_second = 1234.5678};
}

LayerRecord record(std::int64_t step, const std::string& layer) {
  return {.step = step,
          .layer = layer,
          .max_logit = {1.25, kNan},
          .query_norm = {2.0, 3.0},
          .key_norm = {4.0, 5.0},
          .entropy = {0.5, 0.25},
          .sink = {0.125, 0.1},
          .query_norms = {{1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}},
          .key_norms = {{1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}}};
}

// A log like that of a training with a checkpoint every 100 steps, a line every 10 and statistics every 20.
void write_steps(RunLog& log, std::int64_t from, std::int64_t to) {
  for (std::int64_t step = from; step <= to; ++step) {
    log.add_step(report(step), step % 10 == 0);
    if (step % 20 == 0) {
      log.add_layer(record(step, "blocks.0.attn"));
      log.add_layer(record(step, "blocks.1.attn"));
    }
    if (step % 50 == 0) log.add_evaluation(step, 1, {{"loss", 1.5}, {"accuracy", 0.875}});
  }
}

TEST(LayerRecord, SurvivesALine) {
  const auto before = record(30, "blocks.0.attn");
  EXPECT_EQ(to_json(before).dump(),
            R"({"step":30,"layer":"blocks.0.attn","max_logit":[1.25,null],"query_norm":[2.0,3.0],"key_norm":[4.0,5.0],)"
            R"("entropy":[0.5,0.25],"sink":[0.125,0.1],"query_norms":[[1.0,2.0,3.0,4.0,5.0],[6.0,7.0,8.0,9.0,10.0]],)"
            R"("key_norms":[[1.0,1.0,1.0,1.0,1.0],[2.0,2.0,2.0,2.0,2.0]]})");
  auto after = layer_record_from_json(to_json(before));
  EXPECT_TRUE(std::isnan(after.max_logit[1]));
  after.max_logit[1] = 0.0;
  auto expected = before;
  expected.max_logit[1] = 0.0;
  EXPECT_EQ(after, expected);
}

TEST(LayerRecord, RefusesFiguresOfOtherHeads) {
  auto line = to_json(record(30, "blocks.0.attn"));
  line["sink"].push_back(0.5);
  EXPECT_THROW(static_cast<void>(layer_record_from_json(line)), std::invalid_argument);
}

TEST(StepReport, ItsPartsSurviveALine) {
  auto before = report(10);
  before.parts = {{"teacher", 0.25}, {"student", kNan}};
  const auto line = to_json(before);
  EXPECT_EQ(line.at("loss_teacher"), 0.25);
  const auto after = step_report_from_json(nlohmann::ordered_json::parse(line.dump()));
  ASSERT_EQ(after.parts.size(), 2U);
  EXPECT_EQ(after.parts.at("teacher"), 0.25);
  EXPECT_TRUE(std::isnan(after.parts.at("student")));
  EXPECT_EQ(after.loss, before.loss);
  EXPECT_TRUE(step_report_from_json(to_json(report(10))).parts.empty());
}

TEST(RunLog, WritesTheDocumentedLines) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  RunLog log(folder, 0);
  log.add_step(report(10), true);
  log.add_step(report(11), false);
  log.add_evaluation(11, 0, {{"loss", kNan}, {"accuracy", 0.875}});
  EXPECT_EQ(
      text_of(folder / kMetricsFile),
      R"({"kind":"train","step":10,"epoch":0.1,"loss":0.2,"lr":0.001,"grad_norm":0.5,"samples_per_second":1234.57})"
      "\n"
      R"({"kind":"eval","step":11,"epoch":0.0,"accuracy":0.875,"loss":null})"
      "\n");
}

TEST(RunLog, GoesOnAfterTheStepOfTheCheckpoint) {
  const TemporaryFolder straight;
  const TemporaryFolder resumed;
  {
    const RunFolder folder(straight.path());
    RunLog log(folder, 0);
    write_steps(log, 1, 400);
  }
  {
    const RunFolder folder(resumed.path());
    RunLog log(folder, 0);
    write_steps(log, 1, 345);
  }
  // What a kill in the middle of a line leaves.
  std::ofstream(resumed.path() / kMetricsFile, std::ios::app) << R"({"kind":"train","st)";
  std::ofstream(resumed.path() / kStatsFile, std::ios::app) << R"({)";
  {
    const RunFolder folder(resumed.path());
    RunLog log(folder, 300);
    EXPECT_EQ(log.recent_layers().size(), 20U) << "two layers at 120, 140, ..., 300";
    write_steps(log, 301, 400);
  }
  for (const char* file : {kMetricsFile, kStatsFile}) {
    EXPECT_EQ(text_of(straight.path() / file), text_of(resumed.path() / file)) << file;
  }
}

TEST(LineFile, EveryPlaceToBeKilledAtIsReadable) {
  const TemporaryFolder temporary;
  const auto file = temporary.path() / "lines";
  const std::string text = "{\"step\":1}\n{\"step\":2,\"loss\":0.5}\n{\"step\":3}\n";
  for (std::size_t size = 0; size <= text.size(); ++size) {
    const auto left = text.substr(0, size);
    std::ofstream(file, std::ios::binary | std::ios::trunc) << left;
    EXPECT_EQ(base::read_lines(file).size(), static_cast<std::size_t>(std::ranges::count(left, '\n'))) << left;
  }
}

TEST(RunLog, StartingAnewForgetsAll) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  {
    RunLog log(folder, 0);
    log.add_evaluation(0, 0, {{"loss", 2.3}});
    write_steps(log, 1, 20);
    log.write_crash(20, "loss is nan");
  }
  const RunLog log(folder, 0);
  EXPECT_EQ(text_of(folder / kMetricsFile), "");
  EXPECT_EQ(text_of(folder / kStatsFile), "");
  EXPECT_FALSE(std::filesystem::exists(folder / kCrashFile));
}

TEST(RunLog, ACrashKeepsTheLastSteps) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  RunLog log(folder, 0);
  write_steps(log, 1, 1000);
  log.add_step({.step = 1001, .epoch = 10, .loss = kNan}, true);
  log.write_crash(1001, "loss is nan");
  const auto crash = nlohmann::json::parse(text_of(folder / kCrashFile));
  EXPECT_EQ(crash["iteration"], 1001);
  EXPECT_EQ(crash["reason"], "loss is nan");
  ASSERT_EQ(crash["steps"].size(), 200U);
  EXPECT_EQ(crash["steps"].front()["step"], 802);
  EXPECT_TRUE(crash["steps"].back()["loss"].is_null());
  ASSERT_EQ(crash["stats"].size(), 20U) << "two layers at 820, 840, ..., 1000";
  EXPECT_EQ(crash["stats"].front()["step"], 820);
}

TEST(RunLog, TellsTensorBoard) {
  const TemporaryFolder temporary;
  {
    const RunFolder folder(temporary.path());
    RunLog log(folder, 0);
    write_steps(log, 1, 50);
  }
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(temporary.path())) {
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) events += text_of(entry.path());
  }
  for (const char* tag : {"train/loss", "train/lr", "train/grad_norm", "train/samples_per_second", "eval/accuracy",
                          "attention_max_logit/blocks.1.attn", "attention_heads_entropy/blocks.0.attn",
                          "attention_key_norms_95/blocks.0.attn"}) {
    EXPECT_NE(events.find(tag), std::string::npos) << tag;
  }
}

TEST(RunLog, ALineThatIsNoneIsNamed) {
  const TemporaryFolder temporary;
  const RunFolder folder(temporary.path());
  {
    RunLog log(folder, 0);
    write_steps(log, 1, 30);
  }
  std::ofstream(folder / kMetricsFile, std::ios::app) << "rubbish\n{\"step\":31}\n";
  try {
    const RunLog log(folder, 30);
    ADD_FAILURE() << "rubbish was read";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("metrics.jsonl\", line 4: expected a JSON object, got \"rubbish\""),
              std::string::npos)
        << error.what();
  }
  EXPECT_TRUE(text_of(folder / kMetricsFile).ends_with("{\"step\":31}\n")) << "the file was changed";
}

}  // namespace
}  // namespace quest::train
