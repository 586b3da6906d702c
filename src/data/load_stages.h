#pragma once

// Where the time goes while batches are loaded: reading, decoding, augmenting, putting batches together. Whoever does
// one of these says so; while nobody measures, that costs next to nothing.
//
//   const StageTimer timer(LoadStage::augment);

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

enum class LoadStage { read, decode, augment, batch };

inline constexpr std::array<std::string_view, 4> kLoadStages = {"read", "decode", "augment", "batch"};

// What a decoder was given.
struct DecodedFile {
  std::string content;
  std::int64_t least_side = 0;
};

// Measures while it lives, one at a time in a process.
class LoadStages {
 public:
  // Also keeps the first so many files that are decoded.
  explicit LoadStages(std::size_t kept_files = 0);
  // Nobody may be loading any more.
  ~LoadStages();
  LoadStages(const LoadStages&) = delete;
  LoadStages& operator=(const LoadStages&) = delete;

  // Of all threads together, and how often it was done.
  [[nodiscard]] double seconds(LoadStage stage) const;
  [[nodiscard]] std::int64_t count(LoadStage stage) const;
  [[nodiscard]] std::vector<DecodedFile> files() const;

 private:
  friend class StageTimer;
  friend void note_file(std::string_view content, std::int64_t least_side);

  struct Total {
    std::atomic<std::int64_t> nanoseconds = 0;
    std::atomic<std::int64_t> count = 0;
  };

  std::array<Total, kLoadStages.size()> totals_;
  std::size_t kept_files_;
  mutable std::mutex mutex_;
  std::vector<DecodedFile> files_;
};

// From its making to its end, on one thread; `samples` are loaded by it.
class StageTimer {
 public:
  explicit StageTimer(LoadStage stage, std::int64_t samples = 1);
  ~StageTimer();
  StageTimer(const StageTimer&) = delete;
  StageTimer& operator=(const StageTimer&) = delete;

 private:
  LoadStages* stages_;
  LoadStage stage_;
  std::int64_t samples_;
  std::int64_t begin_ = 0;
};

// A file that is about to be decoded.
void note_file(std::string_view content, std::int64_t least_side);

}  // namespace quest::data
