#pragma once

#include <filesystem>
#include <string>

namespace quest::report {

// Whether this build has librsvg.
extern const bool kDrawsPng;

// Draws an SVG at twice its size. Throws std::runtime_error when the file cannot be written, or where nothing is
// drawn.
void write_png(const std::string& svg, const std::filesystem::path& file);

}  // namespace quest::report
