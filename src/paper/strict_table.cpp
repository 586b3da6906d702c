#include "paper/strict_table.h"

#include <algorithm>

#include "recipe/fields.h"

namespace quest::paper {
namespace {

using recipe::RecipeError;
using recipe::Scalar;

template <typename T>
std::optional<T> same_type(const Scalar& scalar) {
  const auto* value = std::get_if<T>(&scalar);
  return value == nullptr ? std::nullopt : std::optional<T>(*value);
}

void collect(const TomlNode& node, const std::string& prefix, std::vector<StrictTable::Leaf>& leaves) {
  for (const auto& [key, value] : *node.table()) {
    if (value.table() == nullptr) {
      leaves.push_back({prefix + key, &value});
    } else {
      collect(value, prefix + key + ".", leaves);
    }
  }
}

}  // namespace

std::string description_of(const TomlNode& node) {
  if (node.table() != nullptr) return "a table";
  if (node.list() != nullptr) return "a list";
  return recipe::text_of(std::visit([](auto scalar) { return recipe::Value(std::move(scalar)); }, *node.scalar()));
}

StrictTable::StrictTable(const TomlNode& node, std::string name) : node_(&node), name_(std::move(name)) {
  if (node.table() == nullptr) {
    throw RecipeError(node.place + ": " + name_ + ": expected a table, got " + description_of(node));
  }
}

const TomlNode* StrictTable::find(const std::string& key) {
  known_.push_back(key);
  const auto& entries = *node_->table();
  const auto found = std::ranges::find(entries, key, &TomlEntry::key);
  return found == entries.end() ? nullptr : &found->node;
}

std::string StrictTable::full_name(const std::string& key) const { return name_.empty() ? key : name_ + "." + key; }

std::string StrictTable::place_of(const std::string& key) const {
  const auto& entries = *node_->table();
  const auto found = std::ranges::find(entries, key, &TomlEntry::key);
  return (found == entries.end() ? node_->place : found->node.place) + ": " + full_name(key);
}

void StrictTable::fail(const std::string& key, const std::string& problem) const {
  throw RecipeError(place_of(key) + ": " + problem);
}

template <typename T>
std::optional<T> StrictTable::value(const std::string& key, const std::string& expected,
                                    const std::function<std::optional<T>(const Scalar&)>& read) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  auto result = node->scalar() == nullptr ? std::nullopt : read(*node->scalar());
  if (!result) fail(key, "expected " + expected + ", got " + description_of(*node));
  return result;
}

std::optional<std::string> StrictTable::text(const std::string& key) {
  return value<std::string>(key, "a text", same_type<std::string>);
}

std::string StrictTable::required_text(const std::string& key) {
  const auto result = text(key);
  if (!result) missing_.push_back(key);
  if (result && result->empty()) fail(key, "expected a text that is not empty");
  return result.value_or("");
}

std::optional<double> StrictTable::number(const std::string& key) {
  return value<double>(key, "a number", [](const Scalar& scalar) -> std::optional<double> {
    if (const auto* integer = std::get_if<std::int64_t>(&scalar)) return static_cast<double>(*integer);
    return same_type<double>(scalar);
  });
}

std::optional<std::int64_t> StrictTable::integer(const std::string& key, std::int64_t least) {
  return value<std::int64_t>(key, "a whole number from " + std::to_string(least), [least](const Scalar& scalar) {
    const auto integer = same_type<std::int64_t>(scalar);
    return integer && *integer >= least ? integer : std::nullopt;
  });
}

std::optional<bool> StrictTable::flag(const std::string& key) {
  return value<bool>(key, "true or false", same_type<bool>);
}

std::optional<std::vector<std::string>> StrictTable::texts(const std::string& key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->list() == nullptr) fail(key, "expected a list of texts, got " + description_of(*node));
  std::vector<std::string> result;
  for (const auto& item : *node->list()) {
    const auto text = item.scalar() == nullptr ? std::nullopt : same_type<std::string>(*item.scalar());
    if (!text) {
      throw RecipeError(item.place + ": " + full_name(key) + ": expected a list of texts, got in it " +
                        description_of(item));
    }
    result.push_back(*text);
  }
  return result;
}

std::optional<StrictTable> StrictTable::table(const std::string& key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  return StrictTable(*node, full_name(key));
}

std::vector<StrictTable> StrictTable::tables(const std::string& key) {
  std::vector<StrictTable> result;
  const auto* node = find(key);
  if (node == nullptr) return result;
  if (node->list() == nullptr) fail(key, "expected a list of tables, got " + description_of(*node));
  for (const auto& item : *node->list()) result.emplace_back(item, full_name(key));
  return result;
}

std::optional<std::vector<StrictTable::Leaf>> StrictTable::leaves(const std::string& key) {
  const auto* node = find(key);
  if (node == nullptr) return std::nullopt;
  if (node->table() == nullptr) fail(key, "expected a table of keys of the recipe, got " + description_of(*node));
  std::vector<Leaf> result;
  collect(*node, "", result);
  std::ranges::stable_sort(result, {}, [](const Leaf& leaf) { return leaf.node->position; });
  return result;
}

void StrictTable::check_keys() const {
  for (const auto& entry : *node_->table()) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    fail(entry.key, "there is no such key; the nearest is \"" + recipe::nearest(entry.key, known_) + "\"");
  }
  if (!missing_.empty()) fail(missing_.front(), "expected a text, and the key is missing");
}

}  // namespace quest::paper
