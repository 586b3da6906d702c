#include "tests/paper/tex_table.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <regex>

#include "paper/number_text.h"

namespace quest::testing {
namespace {

std::string between(std::string_view text, std::string_view begin, std::string_view end) {
  const auto first = text.find(begin);
  if (first == std::string_view::npos) return "";
  const auto rest = text.substr(first + begin.size());
  return std::string(rest.substr(0, rest.find(end)));
}

// At a separator that is not escaped.
std::vector<std::string> split(const std::string& text, const std::string& separator) {
  std::vector<std::string> parts(1);
  for (std::size_t i = 0; i < text.size();) {
    if (text.compare(i, separator.size(), separator) == 0) {
      parts.emplace_back();
      i += separator.size();
      continue;
    }
    const std::size_t step = text[i] == '\\' && i + 1 < text.size() ? 2 : 1;
    parts.back() += text.substr(i, step);
    i += step;
  }
  return parts;
}

std::string replaced(const std::string& text, const char* pattern, const char* by) {
  return std::regex_replace(text, std::regex(pattern), by);
}

std::string plain(std::string text) {
  for (std::string before; before != text;) {
    before = text;
    text = replaced(text, R"(\\(textbf|boldsymbol|underline|texttt)\s*\{([^{}]*)\})", "$2");
  }
  text = replaced(text, R"(\\multirow\{[^{}]*\}\{[^{}]*\}\{([^{}]*)\})", "$1");
  text = replaced(text, R"(\s*\\pm\s*)", paper::kPlusMinus.data());
  text = replaced(text, R"(\\sce)", "e");
  text = replaced(text, R"(\\([%#&]))", "$1");
  text = replaced(text, R"(\$)", "");
  text = replaced(text, R"(\s+)", " ");
  text = replaced(text, R"(^ | $)", "");
  if (text == "--training crashed--") return "crashed";
  return text == "-" || text == "–" ? "" : text;
}

TexRow row_of(const std::string& line) {
  static const std::regex several(R"(\s*\\multicolumn\{(\d+)\}\{[^{}]*\}\{([^{}]*)\}\s*)");
  TexRow row;
  for (const auto& cell : split(line, "&")) {
    std::smatch match;
    const bool is_several = std::regex_match(cell, match, several);
    row.resize(row.size() + (is_several ? std::stoul(match[1]) : 1), plain(is_several ? match[2].str() : cell));
  }
  return row;
}

std::string letters_of(const std::string& text) {
  std::string letters;
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return letters;
}

// "5 %, Standard" is the row whose own cell for it says "Standard"; "0.001", the one that says "1e-3".
bool names_row(const std::string& title, const TexRow& heads) {
  const auto comma = title.rfind(", ");
  const auto last = letters_of(comma == std::string::npos ? title : title.substr(comma + 2));
  return std::ranges::any_of(heads, [&](const std::string& head) {
    return letters_of(head).starts_with(last) || letters_of(head) == letters_of(title) ||
           paper::canonical_value(head) == paper::canonical_value(title);
  });
}

double mean_of(const paper::Item& item, std::size_t column) {
  double sum = 0.0;
  for (const auto& numbers : item.numbers) sum += numbers[column]->value.value();
  return sum / static_cast<double>(item.numbers.size());
}

void compare_means(const paper::Item& item, const TexRow& row, std::vector<std::string>& found) {
  for (std::size_t i = 0; i < item.columns.size(); ++i) {
    const auto& text = row[row.size() - item.columns.size() + i];
    const double half_a_digit = 0.5 * std::pow(10.0, -item.decimals);
    if (std::abs(mean_of(item, i) - std::stod(text)) <= half_a_digit + 1e-9) continue;
    found.push_back("the mean of " + item.columns[i].title + " is " +
                    paper::fixed(mean_of(item, i), item.decimals + 1) + ", the paper's " + text);
  }
}

}  // namespace

std::vector<TexRow> tex_rows(std::string_view source, const std::string& label) {
  const auto begin = source.find("\\label{" + label + "}");
  if (begin == std::string_view::npos) return {};
  const auto table = between(source.substr(begin), "\\begin{tabular}", "\\end{tabular}");
  std::vector<TexRow> rows;
  for (auto line : split(between(table, "\\midrule", "\\bottomrule"), "\\\\")) {
    if (line.find("\\rowcolor") != std::string::npos) continue;  // a heading
    line = replaced(line, R"(\\(midrule|cmidrule\{[^{}]*\}))", "");
    if (!plain(line).empty()) rows.push_back(row_of(line));
  }
  return rows;
}

std::vector<TexRow> transposed(const std::vector<TexRow>& rows) {
  std::vector<TexRow> result(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < result.size(); ++i) result[i].push_back(i < row.size() ? row[i] : "");
  }
  return result;
}

std::vector<std::string> tex_table_labels(const std::string& source) {
  static const std::regex label(R"(\\label\{(table:[^{}]*)\})");
  std::vector<std::string> labels;
  for (std::sregex_iterator match(source.begin(), source.end(), label), end; match != end; ++match) {
    labels.push_back((*match)[1]);
  }
  return labels;
}

std::vector<std::string> differences(const paper::Item& item, std::vector<TexRow> rows) {
  const auto has_averages = [&] { return !rows.empty() && rows.back().front().starts_with("Av"); };
  std::vector<std::string> found;
  if (item.has_means && has_averages()) {
    compare_means(item, rows.back(), found);
    rows.pop_back();
  }
  if (rows.size() != item.rows.size()) {
    found.push_back(std::to_string(item.rows.size()) + " rows, the paper's " + std::to_string(rows.size()));
    return found;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto& title = item.rows[i].title;
    if (rows[i].size() <= item.columns.size()) {
      found.push_back(title + ": " + std::to_string(item.columns.size()) + " columns, the paper has fewer");
      continue;
    }
    const auto first = rows[i].end() - static_cast<std::ptrdiff_t>(item.columns.size());
    if (!names_row(title, TexRow(rows[i].begin(), first))) {
      found.push_back(title + ": the paper's row is " + rows[i].front());
    }
    for (std::size_t column = 0; column < item.columns.size(); ++column) {
      const auto& number = item.numbers[i][column];
      const auto& expected = first[static_cast<std::ptrdiff_t>(column)];
      if ((number ? number->text : "") == expected) continue;
      found.push_back(title + ", " + item.columns[column].title + ": \"" + (number ? number->text : "") +
                      "\", the paper's \"" + expected + "\"");
    }
  }
  return found;
}

}  // namespace quest::testing
