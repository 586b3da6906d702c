#pragma once

// Runs the built program the way a shell does.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <string>

namespace quest::cli {

struct Outcome {
  int exit_code = -1;
  std::string output;  // standard output and standard error together
};

inline Outcome run_quest(const std::string& arguments) {
  // One thread: these tests look at words, and several threads wait long for each other on a busy machine.
  const std::string command = "OMP_NUM_THREADS=1 " QUEST_PROGRAM " " + arguments + " 2>&1";
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return {};
  Outcome outcome;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) outcome.output += buffer.data();
  const int status = pclose(pipe);
  outcome.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

inline void expect_contains(const Outcome& outcome, const std::string& text) {
  EXPECT_NE(outcome.output.find(text), std::string::npos) << "missing: " << text << "\nin:\n" << outcome.output;
}

}  // namespace quest::cli
