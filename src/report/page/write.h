#pragma once

#include <filesystem>

#include "report/page/report.h"

namespace quest::report {

// Both create the folders on the way, and throw std::runtime_error that names the file that could not be written.
void write_page(const Report& report, const std::filesystem::path& file);
// Every figure as ID.svg and ID.png. All SVG files are there before the first PNG is drawn.
void write_figures(const Report& report, const std::filesystem::path& folder);

}  // namespace quest::report
