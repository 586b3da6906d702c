#pragma once

// A file that is read at chosen places.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>

namespace quest::data {

// Errors are FormatErrors without the file's name, as those of the parsers: naming_file adds it. Those of the system
// are FileErrors.
class InputFile {
 public:
  explicit InputFile(const std::filesystem::path& path);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] std::uint64_t size() const { return size_; }

  // Fills all of `bytes` from `offset` on.
  void read_at(std::uint64_t offset, std::span<std::byte> bytes) const;

  // These bytes are wanted soon: the system may begin to read them.
  void will_need(std::uint64_t offset, std::uint64_t bytes) const;

 private:
  int file_;
  std::uint64_t size_ = 0;
};

}  // namespace quest::data
