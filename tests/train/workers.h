#pragma once

// Processes of the program in worker.cpp, started as a launcher would.

#include <sys/types.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

namespace quest::testing {

class Workers {
 public:
  // `count` processes with the arguments of worker.cpp after the output file.
  Workers(int count, const std::vector<std::string>& arguments);
  ~Workers();  // kills what still runs
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  void wait_until_ready(int rank) const;
  void send(int rank, int signal) const;
  // The exit status, 128 + n after signal n, -1 if the process still runs then.
  int status(int rank, std::chrono::seconds most);
  [[nodiscard]] std::string messages(int rank) const;
  [[nodiscard]] std::vector<double> weights() const;

 private:
  [[nodiscard]] std::filesystem::path output() const { return folder_ / "weights"; }

  std::filesystem::path folder_;
  std::vector<pid_t> processes_;
};

}  // namespace quest::testing
