#include "terminal/table.h"

#include <algorithm>
#include <cmath>
#include <iomanip>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace quest::terminal {
namespace {

constexpr const char* kColumnGap = "  ";

std::string text_line(const std::vector<std::string>& cells, const std::vector<Table::Column>& columns,
                      const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += kColumnGap;
    line += pad(cells[i], widths[i], columns[i].align);
  }
  line.erase(line.find_last_not_of(' ') + 1);
  return line + "\n";
}

std::string text_rule(const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t i = 0; i < widths.size(); ++i) line += (i > 0 ? kColumnGap : "") + std::string(widths[i], '-');
  return line + "\n";
}

std::string markdown_line(const std::vector<std::string>& cells) {
  std::string line = "|";
  for (const auto& cell : cells) line += " " + cell + " |";
  return line + "\n";
}

}  // namespace

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

void Table::add_row(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument("a row of this table has " + std::to_string(columns_.size()) + " cells, got " +
                                std::to_string(cells.size()));
  }
  rows_.push_back(std::move(cells));
}

void Table::add_rule() { rows_.emplace_back(); }

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = display_width(columns_[i].title);
    for (const auto& row : rows_) width = row.empty() ? width : std::max(width, display_width(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::string Table::render(TableStyle style) const {
  std::vector<std::string> titles;
  std::vector<std::string> alignments;
  for (const auto& column : columns_) {
    titles.push_back(column.title);
    alignments.emplace_back(column.align == Align::left ? "---" : "---:");
  }
  const auto column_widths = widths();
  const bool markdown = style == TableStyle::markdown;

  std::string text = markdown ? markdown_line(titles) + markdown_line(alignments)
                              : text_line(titles, columns_, column_widths) + text_rule(column_widths);
  for (const auto& row : rows_) {
    if (row.empty()) {
      text += markdown ? "" : text_rule(column_widths);
    } else {
      text += markdown ? markdown_line(row) : text_line(row, columns_, column_widths);
    }
  }
  return text;
}

std::size_t display_width(const std::string& text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string pad(const std::string& text, std::size_t width, Align align) {
  const auto used = display_width(text);
  const std::string space(used < width ? width - used : 0, ' ');
  return align == Align::left ? text + space : space + text;
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
