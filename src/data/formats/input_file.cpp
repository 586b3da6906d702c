#include "data/formats/input_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

[[noreturn]] void fail(const std::string& step) { throw FileError(step + ": " + std::strerror(errno)); }

}  // namespace

InputFile::InputFile(const std::filesystem::path& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (file_ < 0) fail("the file cannot be opened");
  struct stat status{};
  const bool known = ::fstat(file_, &status) == 0;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(file_);
  throw FormatError("expected a file, found a folder or a device");
}

InputFile::~InputFile() { ::close(file_); }

void InputFile::read_at(std::uint64_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const auto count = ::pread(file_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("reading at byte " + std::to_string(offset));
    if (count == 0) throw FormatError("the file ends at byte " + std::to_string(offset) + ", while it was read");
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::uint64_t>(count);
  }
}

void InputFile::will_need(std::uint64_t offset, std::uint64_t bytes) const {
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 17;  // of more, Linux reads the beginning alone
  for (const auto end = offset + bytes; offset < end; offset += kAtOnce) {
    const auto count = static_cast<off_t>(std::min(kAtOnce, end - offset));
    // Advice that is not taken changes nothing but the speed.
    static_cast<void>(::posix_fadvise(file_, static_cast<off_t>(offset), count, POSIX_FADV_WILLNEED));
  }
}

}  // namespace quest::data
