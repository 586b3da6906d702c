#pragma once

#include <stdexcept>

namespace quest::app {

// The command line cannot be obeyed. The program prints the message and ends with kUsageExitCode.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

inline constexpr int kUsageExitCode = 2;

}  // namespace quest::app
