#include "train/run/event_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace quest::train {
namespace {

constexpr std::string_view kNameStart = "events.out.tfevents.";
constexpr double kSecondsBetweenFlushes = 5.0;
constexpr std::size_t kMostWaiting = 1 << 16;
constexpr std::size_t kBuckets = 30;

double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

template <typename Number>
std::string bytes_of(Number number) {
  std::string bytes(sizeof number, '\0');
  std::memcpy(bytes.data(), &number, sizeof number);
  return bytes;
}

// A file is a sequence of records: length, its checksum, content, its checksum. The checksum is CRC-32C, rotated and
// shifted.
constexpr std::array<std::uint32_t, 256> crc_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < table.size(); ++i) {
    std::uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78U : 0U);
    table[i] = value;
  }
  return table;
}

std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto kTable = crc_table();
  std::uint32_t crc = ~0U;
  for (const char byte : bytes) crc = kTable[(crc ^ static_cast<unsigned char>(byte)) & 0xffU] ^ (crc >> 8);
  crc = ~crc;
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8U;
}

std::string record(std::string_view content) {
  const std::string length = bytes_of(static_cast<std::uint64_t>(content.size()));
  std::string result = length + bytes_of(checksum(length));
  return result.append(content) + bytes_of(checksum(content));
}

// Fields of a protocol buffer message, by their numbers in TensorBoard's event.proto and summary.proto.
std::string varint(std::uint64_t value) {
  std::string bytes;
  for (; value >= 0x80; value >>= 7) bytes += static_cast<char>(value | 0x80);
  return bytes + static_cast<char>(value);
}

std::string integer_field(std::uint64_t number, std::int64_t value) {
  return varint(number << 3) + varint(static_cast<std::uint64_t>(value));
}
std::string double_field(std::uint64_t number, double value) { return varint(number << 3 | 1) + bytes_of(value); }
std::string float_field(std::uint64_t number, float value) { return varint(number << 3 | 5) + bytes_of(value); }
std::string bytes_field(std::uint64_t number, std::string_view value) {
  return (varint(number << 3 | 2) + varint(value.size())).append(value);
}
std::string doubles_field(std::uint64_t number, const std::vector<double>& values) {
  std::string bytes;
  for (const double value : values) bytes += bytes_of(value);
  return bytes_field(number, bytes);
}

std::string summary(std::string_view tag, const std::string& value) {
  return bytes_field(5, bytes_field(1, bytes_field(1, tag) + value));
}

std::string histogram(const std::vector<double>& values) {
  const auto [least, most] = std::ranges::minmax(values);
  const double width = (most - least) / kBuckets;
  std::vector<double> limits(kBuckets, most);
  std::vector<double> counts(kBuckets, 0.0);
  for (std::size_t i = 0; i + 1 < kBuckets; ++i) limits[i] = least + width * static_cast<double>(i + 1);
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) {
    const auto bucket = std::ranges::lower_bound(limits, value) - limits.begin();
    counts[static_cast<std::size_t>(std::min<std::ptrdiff_t>(bucket, kBuckets - 1))] += 1.0;
    sum += value;
    squares += value * value;
  }
  return double_field(1, least) + double_field(2, most) + double_field(3, static_cast<double>(values.size())) +
         double_field(4, sum) + double_field(5, squares) + doubles_field(6, limits) + doubles_field(7, counts);
}

// TensorBoard reads the files of a folder in the order of their names, which begin with the time.
std::string name_after_those_in(const std::filesystem::path& folder) {
  auto time = static_cast<std::int64_t>(seconds_since_1970());
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    std::int64_t other = 0;
    if (!name.starts_with(kNameStart)) continue;
    std::from_chars(name.data() + kNameStart.size(), name.data() + name.size(), other);
    time = std::max(time, other + 1);
  }
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"host"};
  return std::string(kNameStart) + std::to_string(time) + "." + host.data();
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t after_step)
    : path_(folder / name_after_those_in(folder)), last_flush_(seconds_since_1970()) {
  file_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file_ < 0) throw std::runtime_error("creating \"" + path_.string() + "\" failed: " + std::strerror(errno));
  add_event(bytes_field(3, "brain.Event:2"), 0);
  constexpr std::int64_t kSessionStarts = 1;
  add_event(bytes_field(7, integer_field(1, kSessionStarts)), after_step > 0 ? after_step + 1 : 0);
  flush();
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const std::runtime_error&) {  // NOLINT(bugprone-empty-catch): the metrics are in metrics.jsonl too
  }
  ::close(file_);
}

void EventFile::add_scalar(std::string_view tag, double value, std::int64_t step) {
  add_event(summary(tag, float_field(2, static_cast<float>(value))), step);
}

void EventFile::add_histogram(std::string_view tag, std::span<const double> values, std::int64_t step) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double value) { return std::isfinite(value); });
  if (!finite.empty()) add_event(summary(tag, bytes_field(5, histogram(finite))), step);
}

void EventFile::add_event(std::string_view content, std::int64_t step) {
  const double now = seconds_since_1970();
  waiting_ += record((double_field(1, now) + integer_field(2, step)).append(content));
  if (waiting_.size() > kMostWaiting || now - last_flush_ > kSecondsBetweenFlushes) flush();
}

void EventFile::flush() {
  last_flush_ = seconds_since_1970();
  while (!waiting_.empty()) {
    const auto count = ::write(file_, waiting_.data(), waiting_.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw std::runtime_error("writing \"" + path_.string() + "\" failed: " + std::strerror(errno));
    waiting_.erase(0, static_cast<std::size_t>(count));
  }
}

}  // namespace quest::train
