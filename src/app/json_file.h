#pragma once

// The file that --json names.

#include <string>

namespace quest::app {

// Minutes of work must not end in a message that the file cannot be written. Throws UsageError; no path is fine.
void require_writable(const std::string& path);

// No path, no file.
void write_json_file(const std::string& path, const std::string& text);

}  // namespace quest::app
