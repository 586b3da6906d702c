#pragma once

// Ctrl-C, and the signal by which launchers and schedulers end a program, for commands that can put their work down:
// the first one asks, the second one ends the program at once.

#include <stdexcept>

namespace quest::app {

// Listens while it lives.
class InterruptRequest {
 public:
  InterruptRequest();
  ~InterruptRequest();
  InterruptRequest(const InterruptRequest&) = delete;
  InterruptRequest& operator=(const InterruptRequest&) = delete;

  [[nodiscard]] static bool made();
};

// The command put its work down as it was asked to. The message says how to take it up again.
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr int kInterruptedExitCode = 130;

}  // namespace quest::app
