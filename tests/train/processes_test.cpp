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

TEST(Processes, SeveralEndWithTheWeightsOfOneWithTheLargerBatch) {
  TemporaryFolder one;
  ASSERT_EQ(status_of(start(one.path(), {"16", "10"})), 0);
  for (const int count : {2, 4}) {
    TemporaryFolder several;
    const std::vector<std::string> arguments = {std::to_string(16 / count), "10", "0", "2"};
    for (const pid_t process : start_together(count, some_port(), several.path(), arguments)) {
      EXPECT_EQ(status_of(process), 0);
    }
    EXPECT_LT(largest_difference(one.path(), several.path()), 1e-6) << count;
  }
}

TEST(Processes, AfterAKilledOneTheRunResumesAndEndsAsIfNothingHadHappened) {
  TemporaryFolder whole;
  for (const pid_t process : start_together(2, some_port(), whole.path(), {"8", "20"})) {
    EXPECT_EQ(status_of(process), 0);
  }
  TemporaryFolder killed;
  const auto processes = start_together(2, some_port(), killed.path(), {"8", "20", "3"});
  wait_for_a_newer_checkpoint(killed.path(), 5);
  ::kill(processes[1], SIGKILL);
  EXPECT_EQ(status_of(processes[1]), 128 + SIGKILL);
  EXPECT_EQ(status_of(processes[0]), 1);
  for (const pid_t process : start_together(2, some_port(), killed.path(), {"8", "20"})) {
    EXPECT_EQ(status_of(process), 0);
  }
  EXPECT_EQ(largest_difference(whole.path(), killed.path()), 0.0);
}

}  // namespace
}  // namespace quest::train
