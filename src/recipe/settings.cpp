#include "recipe/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>
#include <utility>

namespace quest::recipe {
namespace {

std::string place_of(const toml::source_region& source, const std::string& name) {
  return name + ":" + std::to_string(source.begin.line) + ":" + std::to_string(source.begin.column);
}

struct Found {
  toml::source_position position;
  Setting setting;
};

Scalar scalar_of(const toml::node& node, const std::string& key, const std::string& place) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  std::ostringstream type;
  type << node.type();
  throw RecipeError(place + ": " + key + ": expected a number, true, false, a text or a list of them, got a TOML " +
                    type.str());
}

Value value_of(const toml::node& node, const std::string& key, const std::string& place) {
  if (const auto* array = node.as_array()) {
    List list;
    for (const auto& item : *array) list.push_back(scalar_of(item, key, place));
    return list;
  }
  return std::visit([](auto scalar) { return Value(std::move(scalar)); }, scalar_of(node, key, place));
}

void collect(const toml::table& table, const std::string& prefix, const std::string& name, std::vector<Found>& found) {
  for (const auto& [key, node] : table) {
    const std::string full = prefix + std::string(key.str());
    if (const auto* section = node.as_table()) {
      collect(*section, full + ".", name, found);
      continue;
    }
    const std::string place = place_of(key.source(), name);
    found.push_back({key.source().begin, {full, value_of(node, full, place), place}});
  }
}

std::string quoted(const std::string& text) {
  std::ostringstream stream;
  stream << toml::toml_formatter(toml::value<std::string>(text), toml::format_flags::allow_unicode_strings);
  return stream.str();
}

std::string number_text(double number) {
  std::array<char, 32> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), number).ptr;
  std::string text(buffer.data(), end);
  // "1" would be read back as an integer.
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

}  // namespace

std::vector<Setting> settings_of_toml(std::string_view text, const std::string& name) {
  std::vector<Found> found;
  try {
    collect(toml::parse(text), "", name, found);
  } catch (const toml::parse_error& error) {
    throw RecipeError(place_of(error.source(), name) + ": this is no TOML: " + std::string(error.description()));
  }
  // toml++ keeps keys in alphabetical order.
  std::ranges::stable_sort(found, {},
                           [](const Found& entry) { return std::pair(entry.position.line, entry.position.column); });
  std::vector<Setting> settings;
  settings.reserve(found.size());
  for (auto& entry : found) settings.push_back(std::move(entry.setting));
  return settings;
}

Setting setting_of_assignment(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw RecipeError("--set " + text + ": expected key=value, for example --set optimizer.lr=0.001");
  }
  return {.key = text.substr(0, equals), .value = Word{text.substr(equals + 1)}, .place = "--set " + text};
}

std::string text_of(const Value& value) {
  struct Writer {
    std::string operator()(bool flag) const { return flag ? "true" : "false"; }
    std::string operator()(std::int64_t integer) const { return std::to_string(integer); }
    std::string operator()(double number) const { return number_text(number); }
    std::string operator()(const std::string& text) const { return quoted(text); }
    std::string operator()(const Word& word) const { return word.text; }
    std::string operator()(const List& list) const {
      std::string text;
      for (const auto& item : list) text += (text.empty() ? "" : ", ") + std::visit(*this, item);
      return "[" + text + "]";
    }
  };
  return std::visit(Writer{}, value);
}

}  // namespace quest::recipe
