#include "bench/python_clock.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>

namespace quest::bench {
namespace {

struct Pipe {
  int read_end = -1;
  int write_end = -1;

  Pipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
    read_end = ends[0];
    write_end = ends[1];
  }
};

}  // namespace

PythonClock::PythonClock(const std::string& python, std::string_view script, const std::string& argument)
    : python_(python) {
  std::signal(SIGPIPE, SIG_IGN);  // a process that is gone shows when its answer is read
  const Pipe to;
  const Pipe from;
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, to.read_end, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&files, from.write_end, STDOUT_FILENO);
  std::array<std::string, 4> words = {python, "-c", std::string(script), argument};
  const std::array<char*, 5> pointers = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  const int error = ::posix_spawnp(&process_, python.c_str(), &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  ::close(to.read_end);
  ::close(from.write_end);
  to_ = ::fdopen(to.write_end, "w");
  from_ = ::fdopen(from.read_end, "r");
  if (error != 0) process_ = -1;
}

PythonClock::~PythonClock() {
  std::fclose(to_);
  std::fclose(from_);
  if (process_ > 0) ::waitpid(process_, nullptr, 0);
}

double PythonClock::seconds(int request) {
  double seconds = 0;
  std::fprintf(to_, "%d\n", request);
  std::fflush(to_);
  if (process_ < 0 || std::fscanf(from_, "%lf", &seconds) != 1) {
    throw std::runtime_error("\"" + python_ +
                             "\" could not run the PyTorch loop; name a Python that has torch with --python");
  }
  return seconds;
}

}  // namespace quest::bench
