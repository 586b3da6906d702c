#include "train/run/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "base/atomic_file.h"

namespace quest::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kMegabyte = 1e6;

std::string quoted(const std::filesystem::path& path) { return "\"" + path.string() + "\""; }

std::vector<std::filesystem::path> missing_folders(const std::filesystem::path& path) {
  std::vector<std::filesystem::path> missing;
  std::error_code ignored;
  for (auto folder = path; !folder.empty() && !std::filesystem::exists(folder, ignored);
       folder = folder.parent_path()) {
    missing.insert(missing.begin(), folder);
  }
  return missing;
}

void create_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) {
    throw std::runtime_error("the run folder " + quoted(folder) + " cannot be created: " + error.message() +
                             "; choose another");
  }
}

int open_or_throw(const std::filesystem::path& file, int flags) {
  const int descriptor = ::open(file.c_str(), flags | O_CLOEXEC, 0644);
  if (descriptor < 0) {
    throw std::runtime_error(quoted(file) + " cannot be written: " + std::strerror(errno) +
                             "; choose a run folder that is writable");
  }
  return descriptor;
}

std::string megabytes(std::uintmax_t bytes) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << static_cast<double>(bytes) / kMegabyte << " MB";
  return text.str();
}

}  // namespace

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text.data();
}

Json read_run_file(const std::filesystem::path& folder) {
  const auto file = folder / kRunFile;
  std::ifstream stream(file);
  if (!stream) {
    throw std::runtime_error(quoted(file) + " was expected to describe a training run and is not there; name the " +
                             "folder that `quest train --run` was given");
  }
  Json content = Json::parse(stream, nullptr, false);
  if (!content.is_object()) {
    throw std::runtime_error(quoted(file) + " was expected to describe a training run and holds something else; " +
                             "choose another folder");
  }
  return content;
}

RunFolder::RunFolder(std::filesystem::path path) : path_(std::move(path)), created_(missing_folders(path_)) {
  create_folder(path_ / kCheckpointFolder);
  lock();
}

RunFolder::~RunFolder() {
  if (!holds_run()) {
    std::error_code ignored;  // a folder that somebody has put something into stays
    std::filesystem::remove(path_ / kLockFile, ignored);
    std::filesystem::remove(path_ / kCheckpointFolder, ignored);
    for (auto folder = created_.rbegin(); folder != created_.rend(); ++folder)
      std::filesystem::remove(*folder, ignored);
  }
  ::close(lock_);
}

void RunFolder::lock() {
  const auto file = path_ / kLockFile;
  lock_ = open_or_throw(file, O_RDWR | O_CREAT);
  if (::flock(lock_, LOCK_EX | LOCK_NB) == 0) return;
  const int reason = errno;
  ::close(lock_);
  if (reason == EWOULDBLOCK) {
    throw std::runtime_error("another process is training into " + quoted(path_) +
                             "; wait for it to end, or choose another run folder");
  }
  throw std::runtime_error(quoted(file) + " cannot be locked: " + std::strerror(reason) +
                           "; choose another run folder");
}

bool RunFolder::holds_run() const { return std::filesystem::exists(path_ / kRunFile); }
bool RunFolder::can_resume() const { return std::filesystem::exists(path_ / kResumeCheckpoint); }

void RunFolder::update(const Json& changes) const {
  Json content = holds_run() ? read_run_file(path_) : Json::object();
  content.update(changes);
  base::write_atomically(path_ / kRunFile, content.dump(2) + "\n");
}

void RunFolder::check_room(std::uintmax_t bytes) const {
  const auto file = path_ / (std::string(kRunFile) + ".room");
  const int descriptor = open_or_throw(file, O_WRONLY | O_CREAT | O_TRUNC);
  ::unlink(file.c_str());  // the room is given back when the file is closed, whatever happens to this process
  const int reason = ::posix_fallocate(descriptor, 0, static_cast<off_t>(bytes));
  ::close(descriptor);
  if (reason == 0) return;
  std::error_code ignored;
  throw std::runtime_error("the checkpoints in " + quoted(path_) + " need " + megabytes(bytes) + " and there are " +
                           megabytes(std::filesystem::space(path_, ignored).available) + " free (" +
                           std::strerror(reason) + "); make room, or choose another run folder");
}

}  // namespace quest::train
