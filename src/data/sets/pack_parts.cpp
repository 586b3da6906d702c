#include "data/sets/pack_parts.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "base/atomic_file.h"
#include "data/formats/format_error.h"
#include "data/formats/whole_file.h"
#include "data/sets/image_pack_set.h"

namespace quest::data {
namespace {

constexpr const char* kPart = ".part";
constexpr std::string_view kLeftOut = "left out ";

std::filesystem::path pack_part(const std::filesystem::path& folder, const std::string& split) {
  return folder / (split + kPackEnding + kPart);
}
std::filesystem::path journal_part(const std::filesystem::path& folder, const std::string& split) {
  return folder / (split + kPackIndexEnding + kPart);
}

// A kill between the last two steps of finish() leaves a whole pack without an index.
std::filesystem::path with_pack_part(const std::filesystem::path& folder, const std::string& split) {
  auto part = pack_part(folder, split);
  const auto whole = folder / (split + kPackEnding);
  if (std::filesystem::exists(journal_part(folder, split)) && !std::filesystem::exists(part) &&
      std::filesystem::exists(whole)) {
    std::filesystem::rename(whole, part);
  }
  return part;
}

// So that any text is one line.
std::string on_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

AppendedFile::AppendedFile(std::filesystem::path path) : path_(std::move(path)) {
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (file_ < 0) fail("opening");
  if (::flock(file_, LOCK_EX | LOCK_NB) != 0) {
    ::close(file_);
    throw std::runtime_error("\"" + path_.string() + "\" is being written by another process; wait for its end");
  }
}

AppendedFile::~AppendedFile() { ::close(file_); }

void AppendedFile::fail(const char* step) const {
  throw std::runtime_error("\"" + path_.string() + "\": " + step + ": " + std::strerror(errno));
}

std::uint64_t AppendedFile::size() const {
  struct stat status{};
  if (::fstat(file_, &status) != 0) fail("asking for its size");
  return static_cast<std::uint64_t>(status.st_size);
}

void AppendedFile::cut(std::uint64_t size) {
  if (::ftruncate(file_, static_cast<off_t>(size)) != 0) fail("cutting");
}

void AppendedFile::append(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file_, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail("writing");
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
}

void AppendedFile::sync() {
  if (::fsync(file_) != 0) fail("syncing");
}

void AppendedFile::move_to(const std::filesystem::path& path) {
  if (::rename(path_.c_str(), path.c_str()) != 0) fail("renaming");
  path_ = path;
}

PackParts::PackParts(const std::filesystem::path& folder, const std::string& split, std::uint32_t source)
    : folder_(folder),
      split_(split),
      source_("packing " + std::to_string(source) + "\n"),
      pack_(with_pack_part(folder, split)),
      journal_(journal_part(folder, split)) {
  const auto journal = read_whole_file(journal_part(folder, split));
  if (journal.find('\n') != std::string::npos) {
    take_up(journal);
  } else {
    journal_.cut(0);
    journal_.append(source_);
  }
  pack_.cut(bytes_);
  synced_bytes_ = bytes_;
}

void PackParts::take_up(std::string_view journal) {
  const auto path = journal_part(folder_, split_);
  if (!journal.starts_with(source_)) {
    throw FormatError("\"" + path.string() +
                      "\": expected the packing of these pictures, found that of others, which "
                      "was not ended: the pictures have changed, or the folder is another's. Remove \"" +
                      path.string() + "\" to begin anew");
  }
  const auto pack_bytes = pack_.size();
  auto read = source_.size();
  naming_file(path, [&] {
    for (auto end = journal.find('\n', read); end != std::string_view::npos; end = journal.find('\n', read)) {
      take_line(journal.substr(read, end - read), pack_bytes);
      read = end + 1;
    }
  });
  journal_.cut(read);
}

void PackParts::take_line(std::string_view line, std::uint64_t pack_bytes) {
  if (line.starts_with(kLeftOut)) {
    left_out_.emplace_back(line.substr(kLeftOut.size()));
    return;
  }
  const auto image = parse_pack_line(line, pack_bytes, std::numeric_limits<std::int32_t>::max());
  if (!image.sum || image.offset != bytes_) {
    throw FormatError("expected an image at " + std::to_string(bytes_) + ", found the line " + in_quotes(line) +
                      "; remove the file to begin anew");
  }
  lines_.append(line).append("\n");
  bytes_ += image.length;
  ++images_;
}

void PackParts::add(std::string_view content, std::int32_t label, std::string_view name) {
  if (content.size() > std::numeric_limits<std::int32_t>::max()) {
    throw FormatError(in_quotes(name) + ": expected an image of less than 2 GiB");
  }
  const auto line = pack_line({.offset = bytes_,
                               .length = static_cast<std::uint32_t>(content.size()),
                               .label = label,
                               .sum = sum_of(content),
                               .name = name});
  pack_.append(content);
  bytes_ += content.size();
  ++images_;
  lines_ += line;
  unsynced_ += line;
}

void PackParts::leave_out(const std::string& problem) {
  left_out_.push_back(on_one_line(problem));
  unsynced_ += std::string(kLeftOut) + left_out_.back() + "\n";
}

void PackParts::sync() {
  // The journal must not speak of bytes that a power cut could take away.
  pack_.sync();
  journal_.append(unsynced_);
  journal_.sync();
  unsynced_.clear();
  synced_bytes_ = bytes_;
}

void PackParts::finish() {
  sync();
  pack_.move_to(folder_ / (split_ + kPackEnding));
  base::write_atomically(folder_ / (split_ + kPackIndexEnding),
                         lines_ + pack_end(static_cast<std::size_t>(images_), sum_of(lines_)));
  std::filesystem::remove(journal_part(folder_, split_));
}

}  // namespace quest::data
