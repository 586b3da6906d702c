#include "terminal/table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <span>
#include <sstream>
#include <vector>

namespace quest::terminal {
namespace {

constexpr const char* kColumnGap = "  ";

using Texts = std::vector<std::string>;

Texts titles_of(const base::Table& table) {
  Texts titles;
  for (const auto& column : table.columns) titles.push_back(column.title);
  return titles;
}

Texts texts_of(const std::vector<base::Cell>& row) {
  Texts texts;
  for (const auto& cell : row) texts.push_back(cell.text);
  return texts;
}

std::vector<std::size_t> widths_of(const base::Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < table.columns.size(); ++i) {
    std::size_t width = display_width(table.columns[i].title);
    for (const auto& row : table.rows) width = std::max(width, display_width(row[i].text));
    widths.push_back(width);
  }
  return widths;
}

std::string text_line(const Texts& cells, const base::Table& table, std::span<const std::size_t> widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += kColumnGap;
    line += pad(cells[i], widths[i], table.columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string text_rule(std::span<const std::size_t> widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) line += (i > 0 ? kColumnGap : "") + std::string(widths[i], '-');
  return line + "\n";
}

std::string markdown_line(const Texts& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

std::string caption_of(const base::Table& table) { return table.caption.empty() ? "" : table.caption + "\n\n"; }

}  // namespace

std::string text_of(const base::Table& table) {
  base::check(table);
  const auto widths = widths_of(table);
  const std::string rule = text_rule(widths);
  std::string text = caption_of(table) + text_line(titles_of(table), table, widths) + rule;
  for (std::size_t row = 0; row < table.rows.size(); ++row) {
    if (table.has_rule_before(row)) text += rule;
    text += text_line(texts_of(table.rows[row]), table, widths);
  }
  return table.has_rule_before(table.rows.size()) ? text + rule : text;
}

std::string markdown_of(const base::Table& table) {
  base::check(table);
  Texts alignments;
  for (const auto& column : table.columns) alignments.emplace_back(column.align == base::Align::left ? "---" : "---:");
  std::string text = caption_of(table) + markdown_line(titles_of(table)) + markdown_line(alignments);
  for (const auto& row : table.rows) text += markdown_line(texts_of(row));
  return text;
}

std::string render(const base::Table& table, TableStyle style) {
  return style == TableStyle::markdown ? markdown_of(table) : text_of(table);
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string pad(const std::string& text, std::size_t width, base::Align align) {
  const auto used = display_width(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == base::Align::left ? text + space : space + text;
}

std::string fixed(double value, int decimals) {
  std::ostringstream stream;
  stream << std::fixed << std::setprecision(decimals) << value;
  const auto text = stream.str();
  const bool minus_zero = text.starts_with('-') && text.find_first_of("123456789") == std::string::npos;
  return minus_zero && std::isfinite(value) ? text.substr(1) : text;
}

std::string three_digits(double value) {
  const double magnitude = std::abs(value);
  if (magnitude == 0.0 || !std::isfinite(magnitude)) return fixed(value, 0);
  const int digits_before_point = static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return fixed(value, std::max(0, 3 - digits_before_point));
}

}  // namespace quest::terminal
