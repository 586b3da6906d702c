#pragma once

// A TOML file as a tree: tables keep the order of the file, and every node knows where it stands.

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "recipe/settings.h"

namespace quest::paper {

struct TomlEntry;

struct TomlNode {
  using List = std::vector<TomlNode>;
  using Table = std::vector<TomlEntry>;

  std::string place;                                 // of its key, or of itself in a list: "paper/x.toml:12:3"
  std::pair<std::uint32_t, std::uint32_t> position;  // the same as line and column
  std::variant<recipe::Scalar, List, Table> content;

  [[nodiscard]] const recipe::Scalar* scalar() const { return std::get_if<recipe::Scalar>(&content); }
  [[nodiscard]] const List* list() const { return std::get_if<List>(&content); }
  [[nodiscard]] const Table* table() const { return std::get_if<Table>(&content); }
};

struct TomlEntry {
  std::string key;
  TomlNode node;
};

// `file` is its name, for places. Throws recipe::RecipeError for what is no TOML, and for dates and times.
[[nodiscard]] TomlNode toml_tree(std::string_view text, const std::string& file);

}  // namespace quest::paper
