#pragma once

// A Python process that takes training steps when told to and says how long they took.

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace quest::cli {

class PythonSteps {
 public:
  // Runs the script with one argument. It must answer each line of a count with one line of seconds.
  PythonSteps(const std::string& python, std::string_view script, const std::string& argument);
  ~PythonSteps();
  PythonSteps(const PythonSteps&) = delete;
  PythonSteps& operator=(const PythonSteps&) = delete;

  // Seconds of `count` steps. Throws std::runtime_error where the process ended; what it said went to standard error.
  [[nodiscard]] double run(int count);

 private:
  std::string python_;
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace quest::cli
