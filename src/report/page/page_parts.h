#pragma once

// Pieces that the pages of all kinds of runs are made of.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/charts/figure.h"

namespace quest::report {

// How to use a page: its footer.
extern const char* const kPageHelp;

[[nodiscard]] std::string paragraph(const std::string& text, const std::string& css_class = "");
[[nodiscard]] std::string card(const std::string& markup);
[[nodiscard]] std::string all_html(const std::vector<Figure>& figures);

// The last part of each path, or all of it where two end alike.
[[nodiscard]] std::vector<std::string> run_names(std::span<const std::filesystem::path> folders);

}  // namespace quest::report
