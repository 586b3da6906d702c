// Training in processes that are killed and started again, alone and together.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "data/weights/safetensors.h"
#include "tests/testing/temporary_folder.h"
#include "train/run/run_folder.h"

namespace quest::train {
namespace {

using std::chrono::milliseconds;
using testing::TemporaryFolder;
namespace fs = std::filesystem;

pid_t start(const fs::path& folder, const std::vector<std::string>& arguments,
            const std::vector<std::string>& variables = {}) {
  std::vector<std::string> words = {TRAIN_TINY, folder.string()};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> command;
  for (auto& word : words) command.push_back(word.data());
  command.push_back(nullptr);
  auto all = variables;
  std::vector<char*> environment;
  for (auto& variable : all) environment.push_back(variable.data());
  for (char** variable = environ; *variable != nullptr; ++variable) environment.push_back(*variable);
  environment.push_back(nullptr);
  pid_t process = -1;
  EXPECT_EQ(::posix_spawn(&process, TRAIN_TINY, nullptr, nullptr, command.data(), environment.data()), 0);
  return process;
}

int status_of(pid_t process) {
  int status = 0;
  ::waitpid(process, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::vector<pid_t> start_together(int count, int port, const fs::path& folder,
                                  const std::vector<std::string>& arguments) {
  std::vector<pid_t> processes;
  for (int rank = 0; rank < count; ++rank) {
    processes.push_back(start(folder, arguments,
                              {"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(count),
                               "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + std::to_string(port)}));
  }
  return processes;
}

int some_port() { return 20000 + static_cast<int>((::getpid() * 7 + std::random_device{}() % 997) % 20000); }

double largest_difference(const fs::path& a, const fs::path& b) {
  const auto left = data::load_safetensors(a / kLastWeights);
  const auto right = data::load_safetensors(b / kLastWeights);
  double largest = 0;
  for (std::size_t i = 0; i < left.tensors.size(); ++i) {
    largest = std::max(largest, (left.tensors[i].second - right.tensors[i].second).abs().max().item<double>());
  }
  return largest;
}

// The step of a checkpoint, which must be whole; -1 where there is none yet.
std::int64_t checkpoint_step(const fs::path& folder) {
  if (!fs::exists(folder / kResumeCheckpoint)) return -1;
  return std::stoll(data::load_safetensors(folder / kResumeCheckpoint).metadata.at("step"));
}

void wait_for_a_newer_checkpoint(const fs::path& folder, std::int64_t than) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (checkpoint_step(folder) <= than && std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(milliseconds(5));
  }
}

TEST(Processes, FiftyKillsLeaveAReadableRunThatEndsAsIfNothingHadHappened) {
  const std::vector<std::string> arguments = {"16", "400"};
  TemporaryFolder whole;
  ASSERT_EQ(status_of(start(whole.path(), arguments)), 0);

  TemporaryFolder killed;
  std::mt19937 random(1);
  std::int64_t step = -1;
  for (int kill = 0; kill < 50; ++kill) {
    // Without workers, with one, with two: they change nothing.
    const pid_t process = start(killed.path(), {"16", "400", "0", std::to_string(kill % 3)});
    wait_for_a_newer_checkpoint(killed.path(), step);
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20000));
    ::kill(process, SIGKILL);
    ASSERT_EQ(status_of(process), 128 + SIGKILL) << "the training ended before kill " << kill;
    const auto now = checkpoint_step(killed.path());
    ASSERT_GE(now, step);
    step = now;
    ASSERT_EQ(read_run_file(killed.path())["status"], "running");
  }
  ASSERT_EQ(status_of(start(killed.path(), arguments)), 0);
  EXPECT_EQ(largest_difference(whole.path(), killed.path()), 0.0);
}

// What the processes divide among them, and the rule that they update the weights by.
class Together : public ::testing::TestWithParam<std::pair<std::string, std::string>> {
 protected:
  // Of train_tiny, for processes that make steps of 16 samples together.
  [[nodiscard]] static std::vector<std::string> arguments(int count, int epochs, int pause = 0) {
    return {std::to_string(16 / count), std::to_string(epochs), std::to_string(pause), "2",
            GetParam().first,           GetParam().second};
  }

  static void train(int count, const fs::path& folder, int epochs) {
    for (const pid_t process : start_together(count, some_port(), folder, arguments(count, epochs))) {
      EXPECT_EQ(status_of(process), 0);
    }
  }

  // One of two is killed, and the other ends.
  static void train_until_one_is_killed(const fs::path& folder, int epochs) {
    const auto processes = start_together(2, some_port(), folder, arguments(2, epochs, /*pause=*/3));
    wait_for_a_newer_checkpoint(folder, 5);
    ::kill(processes[1], SIGKILL);
    EXPECT_EQ(status_of(processes[1]), 128 + SIGKILL);
    EXPECT_EQ(status_of(processes[0]), 1);
  }
};

INSTANTIATE_TEST_SUITE_P(Processes, Together,
                         ::testing::Values(std::pair{"none", "adamw"}, std::pair{"optimizer", "adamw"},
                                           std::pair{"optimizer", "lamb"}),
                         [](const auto& test) { return test.param.first + "_" + test.param.second; });

TEST_P(Together, TheyEndWithTheWeightsOfOneWithTheLargerBatch) {
  TemporaryFolder one;
  train(1, one.path(), 10);
  for (const int count : {2, 4}) {
    TemporaryFolder several;
    train(count, several.path(), 10);
    EXPECT_LT(largest_difference(one.path(), several.path()), 1e-6) << count;
  }
}

TEST_P(Together, AfterAKilledOneTheRunResumesAndEndsAsIfNothingHadHappened) {
  TemporaryFolder whole;
  train(2, whole.path(), 20);
  TemporaryFolder killed;
  train_until_one_is_killed(killed.path(), 20);
  train(2, killed.path(), 20);
  EXPECT_EQ(largest_difference(whole.path(), killed.path()), 0.0);
}

TEST_P(Together, AnotherNumberGoesOnFromTheirCheckpoint) {
  TemporaryFolder whole;
  train(1, whole.path(), 20);
  TemporaryFolder killed;
  train_until_one_is_killed(killed.path(), 20);
  for (const int count : {1, 4}) {
    TemporaryFolder copy;
    fs::copy(killed.path(), copy.path(), fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    train(count, copy.path(), 20);
    EXPECT_LT(largest_difference(whole.path(), copy.path()), 1e-6) << count;
  }
}

}  // namespace
}  // namespace quest::train
