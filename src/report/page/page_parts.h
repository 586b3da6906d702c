#pragma once

// Pieces that the pages of all kinds of runs are made of.

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/page/report.h"

namespace quest::report {

// How to use a page: its footer.
extern const char* const kPageHelp;

[[nodiscard]] std::string paragraph(const std::string& text, const std::string& css_class = "");
[[nodiscard]] std::string card(const std::string& markup);
[[nodiscard]] std::string all_html(const std::vector<Figure>& figures);

// The figures come after what the section has; one without anything in it is left out.
void add_section(Report& report, Section section, std::vector<Figure> figures = {});

// Nothing where there are no texts.
[[nodiscard]] std::string bullet_list(std::span<const std::string> texts);

// The last part of each path, or all of it where two end alike.
[[nodiscard]] std::vector<std::string> run_names(std::span<const std::filesystem::path> folders);

}  // namespace quest::report
