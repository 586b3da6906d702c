#include "data/sets/made_file.h"

#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

#include "data/formats/format_error.h"
#include "data/sets/locator.h"

namespace quest::data {

std::filesystem::path made_file(const std::string& folder, const std::string& name, const std::string& key) {
  const auto hash = fingerprint(std::as_bytes(std::span(key)));
  return user_cache() / folder / (name + "-" + hexadecimal(hash) + ".safetensors");
}

void save_made_file(const std::filesystem::path& path, const TensorFile& file) {
  std::filesystem::create_directories(path.parent_path());
  auto own = path;
  own += ".";
  own += std::to_string(::getpid());
  save_safetensors(own, file);
  std::filesystem::rename(own, path);
}

std::optional<TensorFile> find_made_file(const std::filesystem::path& path, const std::string& key) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  try {
    auto file = load_safetensors(path);
    if (file.metadata["key"] == key) return file;
  } catch (const FormatError&) {
    // It is made again, and written over.
  }
  return std::nullopt;
}

std::string identity_of(std::span<const std::filesystem::path> files) {
  std::string text;
  for (const auto& file : files) {
    const auto changed = std::filesystem::last_write_time(file).time_since_epoch().count();
    text += (text.empty() ? "" : ", ") + std::filesystem::absolute(file).string() + " " +
            std::to_string(std::filesystem::file_size(file)) + " " + std::to_string(changed);
  }
  return text;
}

std::uint64_t fingerprint(std::span<const std::byte> bytes, std::uint64_t before) {
  constexpr std::uint64_t kPrime = 0x100000001b3;
  auto hash = before ^ bytes.size();
  while (!bytes.empty()) {
    std::uint64_t word = 0;
    const auto count = std::min(bytes.size(), sizeof word);
    std::memcpy(&word, bytes.data(), count);
    hash = (hash ^ word) * kPrime;
    hash ^= hash >> 32;  // the high bits of a product know the low ones, not the other way round
    bytes = bytes.subspan(count);
  }
  return hash;
}

std::string hexadecimal(std::uint64_t number) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (int shift = 60; shift >= 0; shift -= 4) text += kDigits[number >> shift & 0xfU];
  return text;
}

}  // namespace quest::data
