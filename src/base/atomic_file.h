#pragma once

// Files that are whole or as they were before: neither a kill nor a full disk leaves half of one.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <span>
#include <string_view>

namespace quest::base {

// Takes the next bytes of the file being written.
using ByteSink = std::function<void(std::span<const std::byte>)>;

// `write` fills a file with the name of `path` and ".tmp" at its end, which is then synced and renamed. An error names
// the path and the system's reason, and leaves what was at `path`. One writer at a time: a second would share the
// temporary.
void write_atomically(const std::filesystem::path& path, const std::function<void(const ByteSink&)>& write);
void write_atomically(const std::filesystem::path& path, std::string_view content);

}  // namespace quest::base
