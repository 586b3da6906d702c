#pragma once

// Files that the program makes from other data and keeps in the user's cache. The key says what made one: a program
// that would make something else has another key, and so another file.

#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "data/weights/safetensors.h"

namespace quest::data {

// "<name>-<hash of the key>.safetensors" in a folder of the user's cache.
[[nodiscard]] std::filesystem::path made_file(const std::string& folder, const std::string& name,
                                              const std::string& key);

// Makes the folder. Processes that write the same file at once do not disturb each other.
void save_made_file(const std::filesystem::path& path, const TensorFile& file);

// The file if it is there and whole and has the key in its metadata.
[[nodiscard]] std::optional<TensorFile> find_made_file(const std::filesystem::path& path, const std::string& key);

// Names, sizes and times of change of files that something is made from.
[[nodiscard]] std::string identity_of(std::span<const std::filesystem::path> files);

// FNV-1a over 8 bytes at a time: tells contents apart, not for protection.
[[nodiscard]] std::uint64_t fingerprint(std::span<const std::byte> bytes, std::uint64_t before = 0xcbf29ce484222325);
[[nodiscard]] std::string hexadecimal(std::uint64_t number);

}  // namespace quest::data
