#include "paper/toml_tree.h"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace quest::paper {
namespace {

using recipe::RecipeError;

struct Place {
  std::string text;
  std::pair<std::uint32_t, std::uint32_t> position;
};

Place place_of(const toml::source_region& source, const std::string& file) {
  const auto begin = source.begin;
  return {file + ":" + std::to_string(begin.line) + ":" + std::to_string(begin.column), {begin.line, begin.column}};
}

recipe::Scalar scalar_of(const toml::node& node, const std::string& place) {
  if (const auto* flag = node.as_boolean()) return flag->get();
  if (const auto* integer = node.as_integer()) return integer->get();
  if (const auto* number = node.as_floating_point()) return number->get();
  if (const auto* text = node.as_string()) return text->get();
  std::ostringstream type;
  type << node.type();
  throw RecipeError(place + ": expected a text, a number, true, false, a list or a table, got a TOML " + type.str());
}

TomlNode node_of(const toml::node& node, Place place, const std::string& file) {
  TomlNode result{.place = std::move(place.text), .position = place.position, .content = {}};
  if (const auto* table = node.as_table()) {
    TomlNode::Table entries;
    for (const auto& [key, value] : *table) {
      entries.push_back({std::string(key.str()), node_of(value, place_of(key.source(), file), file)});
    }
    // toml++ keeps keys in alphabetical order.
    std::ranges::stable_sort(entries, {}, [](const TomlEntry& entry) { return entry.node.position; });
    result.content = std::move(entries);
  } else if (const auto* array = node.as_array()) {
    TomlNode::List list;
    for (const auto& item : *array) list.push_back(node_of(item, place_of(item.source(), file), file));
    result.content = std::move(list);
  } else {
    result.content = scalar_of(node, result.place);
  }
  return result;
}

}  // namespace

TomlNode toml_tree(std::string_view text, const std::string& file) {
  try {
    const auto table = toml::parse(text);
    return node_of(table, {file + ":1:1", {1, 1}}, file);
  } catch (const toml::parse_error& error) {
    throw RecipeError(place_of(error.source(), file).text + ": this is no TOML: " + std::string(error.description()));
  }
}

}  // namespace quest::paper
