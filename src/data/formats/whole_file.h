#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace quest::data {

constexpr std::uint64_t kLargestUnpacked = std::uint64_t{1} << 32;

// The content of a file, unpacked where it begins as gzip or xz does. Errors are FormatErrors without the file's name;
// one of them is to unpack to more than the given number of bytes.
std::string read_whole_file(const std::filesystem::path& path, std::uint64_t largest = kLargestUnpacked);

}  // namespace quest::data
