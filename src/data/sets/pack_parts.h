#pragma once

// A pack that is being written: SPLIT.jpgs.part grows, and SPLIT.idx.part says what of it counts, so that writing can
// go on after it was ended at any point. Needs no torch.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/formats/image_pack.h"

namespace quest::data {

// A file that is written at its end. Errors are std::runtime_errors with the system's reason.
class AppendedFile {
 public:
  // What is there stays. Throws where another process writes it.
  explicit AppendedFile(std::filesystem::path path);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  [[nodiscard]] std::uint64_t size() const;
  void cut(std::uint64_t size);
  void append(std::string_view bytes);
  void sync();
  void move_to(const std::filesystem::path& path);

 private:
  [[noreturn]] void fail(const char* step) const;

  std::filesystem::path path_;
  int file_ = -1;
};

class PackParts {
 public:
  // Takes up what an earlier one left in the folder. `source` is a sum that tells what is packed. Throws FormatError
  // where that was something else.
  PackParts(const std::filesystem::path& folder, const std::string& split, std::uint32_t source);

  // Pictures that were added or left out.
  [[nodiscard]] std::int64_t taken() const { return images_ + static_cast<std::int64_t>(left_out_.size()); }
  [[nodiscard]] std::int64_t images() const { return images_; }
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
  [[nodiscard]] const std::vector<std::string>& left_out() const { return left_out_; }

  void add(std::string_view content, std::int32_t label, std::string_view name);
  void leave_out(const std::string& problem);

  // What would be lost by a kill now.
  [[nodiscard]] std::uint64_t bytes_at_risk() const { return bytes_ - synced_bytes_; }
  void sync();
  // The pack is whole: the parts become SPLIT.jpgs and SPLIT.idx.
  void finish();

 private:
  void take_up(std::string_view journal);
  void take_line(std::string_view line, std::uint64_t pack_bytes);

  std::filesystem::path folder_;
  std::string split_;
  std::string source_;  // the journal's first line
  AppendedFile pack_;
  AppendedFile journal_;
  std::string unsynced_;  // lines for the journal
  std::string lines_;     // of the index
  std::int64_t images_ = 0;
  std::uint64_t bytes_ = 0;
  std::uint64_t synced_bytes_ = 0;
  std::vector<std::string> left_out_;
};

}  // namespace quest::data
