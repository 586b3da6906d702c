#include "base/children.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace quest::base {
namespace {

constexpr auto kLookEvery = std::chrono::milliseconds(50);
constexpr int kKilledBySignal = 128;

std::vector<char*> pointers_to(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  pointers.reserve(words.size() + 1);
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

std::string_view key_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

std::vector<std::string> with_own(std::span<const std::string> replacements) {
  std::vector<std::string> all(replacements.begin(), replacements.end());
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const bool is_replaced = std::ranges::any_of(
        replacements, [&](const std::string& replacement) { return key_of(replacement) == key_of(*variable); });
    if (!is_replaced) all.emplace_back(*variable);
  }
  return all;
}

// In a process group of its own, so that the terminal's Ctrl-C reaches it through this process and only once.
pid_t start(const Child& child, std::vector<std::string>& environment) {
  auto arguments = child.arguments;
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, child.log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  posix_spawnattr_t attributes{};
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t process = 0;
  const int failure = posix_spawn(&process, arguments.front().c_str(), &actions, &attributes,
                                  pointers_to(arguments).data(), pointers_to(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) {
    throw std::runtime_error("starting \"" + child.arguments.front() + "\" with its output in \"" + child.log.string() +
                             "\" failed: " + std::strerror(failure));
  }
  return process;
}

// Those that run, by their process.
class Running {
 public:
  Running() = default;
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
  // Only an exception leaves any behind.
  ~Running() {
    interrupt();
    for (const auto& [process, child] : children_) waitpid(process, nullptr, 0);
  }

  void add(pid_t process, std::size_t child) { children_[process] = child; }
  [[nodiscard]] std::size_t count() const { return children_.size(); }
  void interrupt() const {
    for (const auto& [process, child] : children_) ::kill(process, SIGINT);
  }
  void collect(const std::function<void(std::size_t, int)>& on_end) {
    for (auto entry = children_.begin(); entry != children_.end();) {
      int status = 0;
      if (waitpid(entry->first, &status, WNOHANG) == 0) {
        ++entry;
        continue;
      }
      const std::size_t child = entry->second;
      entry = children_.erase(entry);
      on_end(child, WIFEXITED(status) ? WEXITSTATUS(status) : kKilledBySignal + WTERMSIG(status));
    }
  }

 private:
  std::map<pid_t, std::size_t> children_;
};

}  // namespace

void run_children(std::span<const Child> children, std::size_t at_once, std::span<const std::string> environment,
                  const ChildCallbacks& callbacks) {
  auto variables = with_own(environment);
  Running running;
  std::size_t next = 0;
  bool is_stopping = false;
  while (running.count() > 0 || (next < children.size() && !is_stopping)) {
    if (!is_stopping && callbacks.should_stop()) {
      is_stopping = true;
      running.interrupt();
    }
    while (!is_stopping && next < children.size() && running.count() < at_once) {
      running.add(start(children[next], variables), next);
      ++next;
    }
    std::this_thread::sleep_for(kLookEvery);
    running.collect(callbacks.on_end);
    callbacks.meanwhile();
  }
}

std::string last_line(const std::filesystem::path& file) {
  std::ifstream stream(file);
  std::string last;
  for (std::string line; std::getline(stream, line);) {
    if (!line.empty()) last = line;
  }
  return last;
}

}  // namespace quest::base
