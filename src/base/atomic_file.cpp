#include "base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>

namespace quest::base {
namespace {

// A file that is gone again unless it was renamed.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target), path_(target.string() + ".tmp") {
    file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (file_ < 0) fail("creating its temporary file");
  }
  ~TemporaryFile() {
    if (file_ >= 0) ::close(file_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(std::span<const std::byte> bytes) const {
    while (!bytes.empty()) {
      const auto count = ::write(file_, bytes.data(), bytes.size());
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) fail("writing");
      bytes = bytes.subspan(static_cast<std::size_t>(count));
    }
  }

  void rename_to_target() {
    if (::fsync(file_) != 0) fail("syncing");
    const int file = file_;
    file_ = -1;
    if (::close(file) != 0) fail("closing");
    if (std::rename(path_.c_str(), target_.c_str()) != 0) fail("renaming its temporary file");
    renamed_ = true;
    sync_folder();
  }

 private:
  // The rename itself lasts only once the folder is on the disk; some file systems cannot sync a folder and say so.
  void sync_folder() const {
    const auto parent = target_.parent_path();
    const int folder = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool synced = folder >= 0 && (::fsync(folder) == 0 || errno == EINVAL);
    if (!synced) fail("syncing the folder");
    ::close(folder);
  }

  [[noreturn]] void fail(const char* step) const {
    const std::string reason = std::strerror(errno);
    std::string message = '"' + target_.string();
    message.append("\" was not written: ").append(step).append(": ").append(reason);
    if (!renamed_) message += "; what was there before is unchanged";
    throw std::runtime_error(message);
  }

  std::filesystem::path target_;
  std::filesystem::path path_;
  int file_ = -1;
  bool renamed_ = false;
};

}  // namespace

void write_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& write) {
  TemporaryFile file(path);
  write([&file](std::span<const std::byte> bytes) { file.write(bytes); });
  file.rename_to_target();
}

void write_atomically(const std::filesystem::path& path, std::string_view content) {
  write_atomically(path, [content](const ByteSink& sink) { sink(std::as_bytes(std::span(content))); });
}

}  // namespace quest::base
