#include "report/page/page_parts.h"

#include <algorithm>

#include "report/charts/markup.h"

namespace quest::report {

const char* const kPageHelp =
    "Point at a figure, or reach it with the Tab key and move with the arrow keys, to read its values. Column heads "
    "sort. This page is complete in itself and fetches nothing.";

std::string paragraph(const std::string& text, const std::string& css_class) {
  return element("p", {{"class", css_class}}, escaped(text)) + "\n";
}

std::string card(const std::string& markup) { return element("div", {{"class", "card"}}, markup) + "\n"; }

std::string all_html(const std::vector<Figure>& figures) {
  std::string markup;
  for (const Figure& figure : figures) markup += figure_html(figure);
  return markup;
}

void add_section(Report& report, Section section, std::vector<Figure> figures) {
  section.body += all_html(figures);
  if (section.body.empty()) return;
  report.page.sections.push_back(std::move(section));
  std::ranges::move(figures, std::back_inserter(report.figures));
}

std::string bullet_list(std::span<const std::string> texts) {
  std::string items;
  for (const std::string& text : texts) items += element("li", {}, escaped(text)) + "\n";
  return items.empty() ? "" : element("ul", {}, "\n" + items) + "\n";
}

std::vector<std::string> run_names(std::span<const std::filesystem::path> folders) {
  const auto last_part = [](const std::filesystem::path& folder) {
    const auto path = folder.lexically_normal();
    return (path.has_filename() ? path : path.parent_path()).filename().string();
  };
  std::vector<std::string> names;
  for (const auto& folder : folders) {
    const auto namesakes =
        std::ranges::count_if(folders, [&](const auto& other) { return last_part(other) == last_part(folder); });
    names.push_back(namesakes == 1 ? last_part(folder) : folder.string());
  }
  return names;
}

}  // namespace quest::report
