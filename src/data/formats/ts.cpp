#include "data/formats/ts.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr std::string_view kSpace = " \t\r";

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Cuts off what stands before the first separator.
std::string_view take(std::string_view& text, std::string_view separators) {
  const auto end = std::min(text.find_first_of(separators), text.size());
  const auto part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

class Parser {
 public:
  TsFile parse(std::string_view content) {
    while (!content.empty()) {
      const auto line = trimmed(take(content, "\n"));
      ++line_;
      if (line.empty() || line.starts_with('#')) continue;
      if (in_data_) {
        add_case(line);
      } else {
        read_tag(line);
      }
    }
    if (!in_data_) fail("expected @data before the end of the file, found none");
    if (file_.cases.empty()) fail("expected cases after @data, found none");
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw FormatError("line " + std::to_string(line_) + ": " + reason);
  }

  void read_tag(std::string_view line) {
    if (!line.starts_with('@')) {
      fail("expected a comment (#), a tag (@) or @data before the first case, found " + in_quotes(line));
    }
    const std::string tag = lower_case(take(line, kSpace));
    const std::string_view value = trimmed(line);
    if (tag == "@data") {
      in_data_ = true;
    } else if (tag == "@problemname") {
      file_.name = value;
    } else if (tag == "@dimensions" || tag == "@dimension") {
      declared_dimensions_ = count(value);
    } else if (tag == "@classlabel") {
      read_classes(value);
    } else if (tag == "@timestamps" && lower_case(value) == "true") {
      fail("expected series without time stamps; convert them to evenly spaced steps first");
    } else if (tag == "@targetlabel" && lower_case(value) == "true") {
      fail("expected classes, found the targets of a regression");
    }
  }

  [[nodiscard]] std::size_t count(std::string_view text) const {
    std::size_t value = 0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc() || end != text.end() || value == 0) {
      fail("expected a number of dimensions above 0, found " + in_quotes(text));
    }
    return value;
  }

  void read_classes(std::string_view text) {
    if (lower_case(take(text, kSpace)) != "true")
      fail("expected \"@classLabel true\" and the classes, found no classes");
    while (!text.empty()) {
      if (const auto name = take(text, kSpace); !name.empty()) classes_.emplace(name);
    }
  }

  [[nodiscard]] double number(std::string_view text) const {
    text = trimmed(text);
    if (text == "?") return std::numeric_limits<double>::quiet_NaN();
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0.0;
    const auto [end, error] = std::from_chars(text.begin(), text.end(), value);
    if (error != std::errc() || end != text.end() || std::isinf(value)) {
      fail("expected a finite number or ?, found " + in_quotes(text));
    }
    return value;
  }

  void add_case(std::string_view line) {
    const auto last = line.rfind(':');
    if (last == std::string_view::npos) fail("expected dimensions and a class parted by \":\", found none");
    TsCase result{.label = std::string(trimmed(line.substr(last + 1)))};
    if (result.label.empty() || result.label.find(',') != std::string::npos) {
      fail("expected the name of a class after the last \":\", found " + in_quotes(result.label));
    }
    if (!classes_.empty() && !classes_.contains(result.label)) {
      fail("expected one of the classes that @classLabel names, found " + in_quotes(result.label));
    }
    std::size_t dimensions = 0;
    for (std::optional<std::string_view> rest = line.substr(0, last); rest; ++dimensions) {
      rest = add_dimension(*rest, dimensions, result);
    }
    check_dimensions(dimensions);
    file_.cases.push_back(std::move(result));
  }

  // Returns what follows the dimension, or nothing after the last.
  [[nodiscard]] std::optional<std::string_view> add_dimension(std::string_view rest, std::size_t index,
                                                              TsCase& result) const {
    const auto end = rest.find(':');
    std::string_view values = rest.substr(0, end);
    const std::size_t before = result.values.size();
    const auto commas = static_cast<std::size_t>(std::ranges::count(values, ','));
    for (std::size_t i = 0; i <= commas; ++i) result.values.push_back(number(take(values, ",")));
    const std::size_t length = result.values.size() - before;
    if (index == 0) result.length = length;
    if (length != result.length) {
      fail("expected dimensions of the same length in a case, found " + std::to_string(result.length) +
           " values in the first and " + std::to_string(length) + " in dimension " + std::to_string(index + 1));
    }
    if (end == std::string_view::npos) return std::nullopt;
    return rest.substr(end + 1);
  }

  void check_dimensions(std::size_t found) {
    if (file_.cases.empty()) file_.dimensions = declared_dimensions_.value_or(found);
    if (found != file_.dimensions) {
      fail("expected " + std::to_string(file_.dimensions) + " dimensions, as " +
           (declared_dimensions_ ? "@dimensions says" : "in the first case") + ", found " + std::to_string(found) +
           "; is the line cut off?");
    }
  }

  TsFile file_;
  std::size_t line_ = 0;
  bool in_data_ = false;
  std::optional<std::size_t> declared_dimensions_;
  std::set<std::string> classes_;
};

}  // namespace

TsFile parse_ts(std::string_view content) { return Parser().parse(content); }

}  // namespace quest::data
