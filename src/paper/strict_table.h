#pragma once

// A table of a TOML file, read key by key: a key that no one asks for, one that is missing and a value of another type
// are errors that say where.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "paper/toml_tree.h"

namespace quest::paper {

class StrictTable {
 public:
  // Refers to the node. `name` is what messages call it: "item"; empty for the file. Throws for what is no table.
  StrictTable(const TomlNode& node, std::string name);

  // Each throws recipe::RecipeError for a value of another type.
  [[nodiscard]] std::optional<std::string> text(const std::string& key);
  [[nodiscard]] std::optional<double> number(const std::string& key);
  [[nodiscard]] std::optional<std::int64_t> integer(const std::string& key, std::int64_t least);
  [[nodiscard]] std::optional<bool> flag(const std::string& key);
  [[nodiscard]] std::optional<std::vector<std::string>> texts(const std::string& key);
  [[nodiscard]] std::optional<StrictTable> table(const std::string& key);
  [[nodiscard]] std::vector<StrictTable> tables(const std::string& key);  // none where there is no such key
  // Empty where there is none, which check_keys() then tells.
  [[nodiscard]] std::string required_text(const std::string& key);

  // What is no table below a key, in the order of the file, with dotted names: "data.name" for `data = { name = … }`.
  struct Leaf {
    std::string key;
    const TomlNode* node = nullptr;
  };
  [[nodiscard]] std::optional<std::vector<Leaf>> leaves(const std::string& key);

  // After everything was asked for: throws for an unknown key, naming the nearest one, and for one that is missing.
  void check_keys() const;

  // What messages about the table begin with: where it stands, and its name.
  [[nodiscard]] std::string place() const { return node_->place + ": " + name_; }
  // What messages about a key begin with: its place, or the table's where it is missing, and its name.
  [[nodiscard]] std::string place_of(const std::string& key) const;
  [[noreturn]] void fail(const std::string& key, const std::string& problem) const;

 private:
  [[nodiscard]] const TomlNode* find(const std::string& key);
  [[nodiscard]] std::string full_name(const std::string& key) const;
  template <typename T>
  std::optional<T> value(const std::string& key, const std::string& expected,
                         const std::function<std::optional<T>(const recipe::Scalar&)>& read);

  const TomlNode* node_;
  std::string name_;
  std::vector<std::string> known_;
  std::vector<std::string> missing_;
};

// What stands there, for messages: a value as TOML has it, "a list" or "a table".
[[nodiscard]] std::string description_of(const TomlNode& node);

}  // namespace quest::paper
