#include "eval/part_by_part.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <mutex>

#include "tests/eval/fixed_classifier.h"
#include "tests/testing/folder_fixture.h"
#include "tests/testing/messages.h"
#include "tests/testing/threads_as_processes.h"

namespace quest::eval {
namespace {

using testing::as_processes;
using testing::has;
using testing::message_of;
using Numbers = std::vector<double>;

constexpr std::int64_t kParts = 11;

// What no sum of other parts could give by chance.
Numbers numbers_of(std::int64_t part) {
  return {std::sqrt(static_cast<double>(part)), 1.0 / (1.0 + static_cast<double>(part))};
}

std::vector<Numbers> all_numbers() {
  std::vector<Numbers> all;
  for (std::int64_t part = 0; part < kParts; ++part) all.push_back(numbers_of(part));
  return all;
}

class PartByPart : public testing::FolderFixture {
 protected:
  // One process of perhaps several.
  std::vector<Numbers> compute(
      train::Communicator& processes, bool keeps = true,
      const std::function<bool()>& should_stop = [] { return false; }) {
    testing::FixedClassifier task(torch::zeros({1, 2}), torch::zeros({1}, at::kLong));
    const train::Recipe recipe;
    const Subject subject{.task = task,
                          .recipe = recipe,
                          .processes = processes,
                          .scratch = keeps ? in_folder("parts") : std::filesystem::path()};
    Callbacks callbacks;
    callbacks.should_stop = should_stop;
    callbacks.on_progress = [this](double done, std::string_view label) {
      const std::scoped_lock lock(mutex_);
      progress_[done] = label;
    };
    return part_by_part(subject, callbacks, {.name = "pgd", .count = kParts, .width = 2}, [this](std::int64_t part) {
      const std::scoped_lock lock(mutex_);
      ++calls_[part];
      return numbers_of(part);
    });
  }
  std::vector<Numbers> compute_alone(
      bool keeps = true, const std::function<bool()>& should_stop = [] { return false; }) {
    const auto alone = train::communicator_from_environment(at::kCPU);
    return compute(*alone, keeps, should_stop);
  }
  // Stops before the part after so many.
  std::string stopped_after(int parts, bool keeps = true) {
    return message_of([&] { (void)compute_alone(keeps, [parts]() mutable { return parts-- == 0; }); });
  }
  [[nodiscard]] bool each_part_was_computed_once() const {
    if (calls_.size() != kParts) return false;
    return std::ranges::all_of(calls_, [](const auto& call) { return call.second == 1; });
  }

  std::mutex mutex_;
  std::map<std::int64_t, int> calls_;
  std::map<double, std::string> progress_;
};

TEST_F(PartByPart, GivesThePartsInTheirOrder) {
  EXPECT_EQ(compute_alone(), all_numbers());
  EXPECT_TRUE(each_part_was_computed_once());
  EXPECT_EQ(progress_.begin()->first, 0.0);
  EXPECT_EQ(progress_.begin()->second, "pgd 1 of 11");
  EXPECT_EQ(progress_.rbegin()->second, "pgd 11 of 11");
  EXPECT_LT(progress_.rbegin()->first, 1.0);
}

TEST_F(PartByPart, StoppedAndStartedAgainItComputesNothingTwice) {
  EXPECT_EQ(stopped_after(4), "stopped after pgd 4 of 11; started again, it goes on with the others");
  EXPECT_EQ(calls_.size(), 4U);
  EXPECT_EQ(stopped_after(0), "stopped after pgd 4 of 11; started again, it goes on with the others");
  EXPECT_EQ(compute_alone(), all_numbers()) << "to the bit";
  EXPECT_TRUE(each_part_was_computed_once());
  EXPECT_EQ(compute_alone(), all_numbers());
  EXPECT_TRUE(each_part_was_computed_once()) << "all were there";
}

TEST_F(PartByPart, KilledWhileItWroteALineItComputesThatPartAgain) {
  (void)stopped_after(4);
  const auto file = in_folder("parts/pgd.0.jsonl");
  std::filesystem::resize_file(file, std::filesystem::file_size(file) - 3);
  EXPECT_EQ(compute_alone(), all_numbers());
  EXPECT_EQ(calls_.at(3), 2);
  EXPECT_EQ(calls_.at(2), 1);
}

TEST_F(PartByPart, WithoutAFolderItSaysThatNothingIsKept) {
  EXPECT_EQ(stopped_after(4, false), "stopped after pgd 4 of 11; nothing is kept");
  EXPECT_EQ(compute_alone(false), all_numbers());
  EXPECT_EQ(calls_.at(0), 2);
}

TEST_F(PartByPart, AStopAfterTheLastPartIsNone) {
  EXPECT_EQ(compute_alone(true, [this] { return calls_.size() == kParts; }), all_numbers());
}

class Processes : public PartByPart, public ::testing::WithParamInterface<int> {};

INSTANTIATE_TEST_SUITE_P(Together, Processes, ::testing::Values(2, 3, 16));

TEST_P(Processes, ShareThePartsAndHaveAllNumbers) {
  as_processes(GetParam(), [&](train::Communicator& processes) {
    EXPECT_EQ(compute(processes), all_numbers()) << "rank " << processes.rank();
  });
  EXPECT_TRUE(each_part_was_computed_once());
}

TEST_P(Processes, GoOnWithWhatAnotherNumberOfThemHasLeft) {
  (void)stopped_after(5);
  as_processes(GetParam(), [&](train::Communicator& processes) {
    EXPECT_EQ(compute(processes), all_numbers()) << "rank " << processes.rank();
  });
  EXPECT_TRUE(each_part_was_computed_once());
  EXPECT_EQ(compute_alone(), all_numbers());
  EXPECT_TRUE(each_part_was_computed_once());
}

TEST_P(Processes, AllStopWhereOneDoes) {
  std::atomic<int> stopped = 0;
  as_processes(GetParam(), [&](train::Communicator& processes) {
    try {
      (void)compute(processes, true, [&] { return processes.rank() == 1; });
    } catch (const Stopped& problem) {
      ++stopped;
      EXPECT_TRUE(has(problem.what(), "started again, it goes on"));
    }
  });
  EXPECT_EQ(stopped, GetParam());
  EXPECT_FALSE(calls_.contains(1));
  EXPECT_EQ(compute_alone(), all_numbers());
  EXPECT_TRUE(each_part_was_computed_once());
}

TEST_F(PartByPart, AnotherWidthIsAMistakeOfTheProgram) {
  std::filesystem::create_directories(in_folder("parts"));
  (void)file_with("parts/pgd.0.jsonl", "{\"part\":2,\"numbers\":[1.0,2.0,3.0]}\n");
  const auto message = message_of([&] { (void)compute_alone(); });
  EXPECT_EQ(message, "expected 2 numbers from pgd 2 of 11, got 3");
}

TEST_F(PartByPart, PartsBeyondTheLastAreNoHarm) {
  std::filesystem::create_directories(in_folder("parts"));
  (void)file_with("parts/pgd.0.jsonl", "{\"part\":11,\"numbers\":[1.0,2.0]}\n{\"part\":-1,\"numbers\":[1.0,2.0]}\n");
  EXPECT_EQ(compute_alone(), all_numbers());
}

}  // namespace
}  // namespace quest::eval
