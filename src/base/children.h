#pragma once

// Runs programs, several at a time, with what they say in files.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace quest::base {

struct Child {
  std::vector<std::string> arguments;  // the first is the path of the program
  std::filesystem::path log;           // of standard output and standard error; begun anew
};

struct ChildCallbacks {
  // Exit codes as a shell has them: 128 and the number of the signal for a program that one has ended.
  std::function<void(std::size_t child, int exit_code)> on_end;
  std::function<void()> meanwhile = [] {};  // a few times a second
  // Once true, those that run are asked to end by SIGINT, which they alone receive, and no other is started.
  std::function<bool()> should_stop = [] { return false; };
};

// Returns when none runs any more. `environment` holds "KEY=value" that replace this process's own. Throws
// std::runtime_error where no program can be started, after those that run were stopped.
void run_children(std::span<const Child> children, std::size_t at_once, std::span<const std::string> environment,
                  const ChildCallbacks& callbacks);

// The last line that is not empty; what a program that failed usually says last. Empty where there is none.
[[nodiscard]] std::string last_line(const std::filesystem::path& file);

}  // namespace quest::base
