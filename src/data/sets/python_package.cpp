#include "data/sets/python_package.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>

namespace quest::data {
namespace {

constexpr double kAlmostDone = 0.99;

// Temporary files in the given folder let the caller see how much has arrived.
constexpr const char* kFetchScript = R"python(
import os, pathlib, subprocess, sys, zipfile
package, inside, work, target = sys.argv[1:5]
command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-cache-dir",
           "--disable-pip-version-check", "--only-binary=:all:", "--dest", work, package]
if subprocess.run(command, env=os.environ | {"TMPDIR": work}).returncode:
    sys.exit(1)
wheel = zipfile.ZipFile(next(pathlib.Path(work).glob("*.whl")))
for name in sys.argv[5:]:
    part = pathlib.Path(work, name)
    part.write_bytes(wheel.read(inside + name))
    os.replace(part, pathlib.Path(target, name))
)python";

// Gone with this object, whatever happens.
class WorkFolder {
 public:
  explicit WorkFolder(std::filesystem::path path) : path_(std::move(path)) {
    std::filesystem::create_directories(path_);
  }
  ~WorkFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  WorkFolder(const WorkFolder&) = delete;
  WorkFolder& operator=(const WorkFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

double bytes_in(const std::filesystem::path& folder) {
  double bytes = 0.0;
  std::error_code error;  // files come and go meanwhile
  for (std::filesystem::recursive_directory_iterator entry(folder, error), end; entry != end; entry.increment(error)) {
    if (entry->is_regular_file(error)) bytes += static_cast<double>(entry->file_size(error));
    if (error) break;
  }
  return bytes;
}

// Runs a program with its output in a file, and reports between looks at whether it has ended. Its exit status, or -1.
int run(std::vector<std::string> arguments, const std::filesystem::path& output,
        const std::function<void()>& meanwhile) {
  std::vector<char*> words;
  words.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) words.push_back(argument.data());
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions{};
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, words[0], &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error("starting " + arguments[0] + " failed: " + std::strerror(failure));
  int status = 0;
  while (waitpid(child, &status, WNOHANG) == 0) {
    meanwhile();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string text_of(const std::filesystem::path& path) {
  std::ifstream stream(path);
  return {std::istreambuf_iterator<char>(stream), {}};
}

}  // namespace

void fetch_packaged(const PackagedFiles& wanted, const std::filesystem::path& folder, const std::string& python,
                    const std::function<void(double)>& progress) {
  const WorkFolder work(folder / (".fetch-" + std::to_string(getpid())));
  const auto output = work.path() / "output.txt";
  std::vector<std::string> command = {python,        "-c",        kFetchScript,   wanted.package,
                                      wanted.folder, work.path(), folder.string()};
  command.insert(command.end(), wanted.files.begin(), wanted.files.end());
  const int status =
      run(command, output, [&] { progress(std::min(bytes_in(work.path()) / wanted.bytes, kAlmostDone)); });
  const bool has_all = std::ranges::all_of(
      wanted.files, [&](const std::string& file) { return std::filesystem::is_regular_file(folder / file); });
  if (status != 0 || !has_all) {
    throw std::runtime_error("fetching " + wanted.package + " with the pip of \"" + python + "\" failed. It said:\n" +
                             text_of(output));
  }
  progress(1.0);
}

}  // namespace quest::data
