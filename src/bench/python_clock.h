#pragma once

// A Python process that does something when asked to and says how long it took.

#include <sys/types.h>

#include <cstdio>
#include <string>
#include <string_view>

namespace quest::bench {

class PythonClock {
 public:
  // Runs the script with one argument. It must answer each line with a number, which says what to do, by one of
  // seconds.
  PythonClock(const std::string& python, std::string_view script, const std::string& argument);
  ~PythonClock();
  PythonClock(const PythonClock&) = delete;
  PythonClock& operator=(const PythonClock&) = delete;

  // Throws std::runtime_error where the process ended; what it said went to standard error.
  [[nodiscard]] double seconds(int request);

 private:
  std::string python_;
  pid_t process_ = -1;
  std::FILE* to_ = nullptr;
  std::FILE* from_ = nullptr;
};

}  // namespace quest::bench
