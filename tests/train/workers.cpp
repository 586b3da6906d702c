#include "tests/train/workers.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <thread>

namespace quest::testing {
namespace {

using std::chrono::steady_clock;

int free_port() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* general = reinterpret_cast<sockaddr*>(&address);
  const bool bound = bind(listener, general, size) == 0 && getsockname(listener, general, &size) == 0;
  close(listener);
  EXPECT_TRUE(bound) << "no free port on the loopback interface";
  return ntohs(address.sin_port);
}

pid_t start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
            const std::string& messages) {
  const pid_t process = fork();
  if (process != 0) return process;
  for (const std::string& variable : environment) putenv(const_cast<char*>(variable.c_str()));
  const int log = open(messages.c_str(), O_CREAT | O_WRONLY | O_TRUNC, 0600);
  dup2(log, STDERR_FILENO);
  std::vector<char*> arguments;
  for (const std::string& argument : command) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(arguments[0], arguments.data());
  _exit(127);
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

Workers::Workers(int count, const std::vector<std::string>& arguments) {
  std::string folder = (std::filesystem::temp_directory_path() / "quest-workers-XXXXXX").string();
  folder_ = mkdtemp(folder.data());
  const std::string port = std::to_string(free_port());
  for (int rank = 0; rank < count; ++rank) {
    std::vector<std::string> command{TRAIN_WORKER, output().string()};
    command.insert(command.end(), arguments.begin(), arguments.end());
    const std::vector<std::string> environment{"RANK=" + std::to_string(rank), "WORLD_SIZE=" + std::to_string(count),
                                               "MASTER_ADDR=127.0.0.1", "MASTER_PORT=" + port};
    processes_.push_back(start(command, environment, (folder_ / ("messages." + std::to_string(rank))).string()));
  }
}

Workers::~Workers() {
  for (const pid_t process : processes_) {
    if (process == 0) continue;
    kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }
  std::filesystem::remove_all(folder_);
}

void Workers::wait_until_ready(int rank) const {
  const auto end = steady_clock::now() + std::chrono::seconds(60);
  while (!std::filesystem::exists(output().string() + "." + std::to_string(rank))) {
    ASSERT_LT(steady_clock::now(), end) << "rank " << rank << " did not start: " << messages(rank);
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void Workers::send(int rank, int signal) const { kill(processes_[static_cast<std::size_t>(rank)], signal); }

int Workers::status(int rank, std::chrono::seconds most) {
  const auto end = steady_clock::now() + most;
  pid_t& process = processes_[static_cast<std::size_t>(rank)];
  int status = 0;
  while (waitpid(process, &status, WNOHANG) == 0) {
    if (steady_clock::now() >= end) return -1;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  process = 0;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

std::string Workers::messages(int rank) const { return text_of(folder_ / ("messages." + std::to_string(rank))); }

std::vector<double> Workers::weights() const {
  const std::string bytes = text_of(output());
  std::vector<float> values(bytes.size() / sizeof(float));
  std::copy_n(bytes.data(), values.size() * sizeof(float), reinterpret_cast<char*>(values.data()));
  return {values.begin(), values.end()};
}

}  // namespace quest::testing
