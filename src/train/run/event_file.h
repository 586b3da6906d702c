#pragma once

// What TensorBoard draws: scalars and histograms by step, in its own file format.

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace quest::train {

class EventFile {
 public:
  // A new file in the folder, beside those of earlier sessions of the run. TensorBoard then forgets what they say of
  // steps after the given one; 0 forgets everything.
  EventFile(const std::filesystem::path& folder, std::int64_t after_step);
  ~EventFile();
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  void add_scalar(std::string_view tag, double value, std::int64_t step);

  // 30 buckets of equal width; values that are not finite are left out.
  void add_histogram(std::string_view tag, std::span<const double> values, std::int64_t step);

  // Happens by itself every few seconds of adding, and at the end. Throws std::runtime_error with the system's reason.
  void flush();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  void add_event(std::string_view content, std::int64_t step);

  std::filesystem::path path_;
  std::string waiting_;
  double last_flush_ = 0.0;
  int file_ = -1;
};

}  // namespace quest::train
