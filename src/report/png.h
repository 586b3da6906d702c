#pragma once

#include <filesystem>
#include <string>

namespace quest::report {

// Draws an SVG at twice its size. Throws std::runtime_error when the file cannot be written, or when this build has no
// librsvg.
void write_png(const std::string& svg, const std::filesystem::path& file);

}  // namespace quest::report
