#pragma once

// One description of the keys of a recipe serves reading, checking, writing and documenting them.
//
//   void describe(Fields& fields, OptimizerOptions& options) {
//     fields.number("optimizer.lr", options.lr, Range::above(0), "peak learning rate");
//   }
//
// Fields keeps references to the options it was given: they must outlive it. What the options hold when they are
// described are the defaults.

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "recipe/settings.h"

namespace quest::recipe {

struct Range {
  double least = -std::numeric_limits<double>::max();
  double most = std::numeric_limits<double>::max();
  bool least_is_excluded = false;
  bool most_is_excluded = false;

  static constexpr Range from(double least) { return {.least = least}; }
  static constexpr Range above(double least) { return {.least = least, .least_is_excluded = true}; }
  static constexpr Range between(double least, double most) { return {.least = least, .most = most}; }
  static constexpr Range from_to_below(double least, double most) {
    return {.least = least, .most = most, .most_is_excluded = true};
  }

  [[nodiscard]] bool holds(double value) const;
  [[nodiscard]] std::string text() const;  // "a number from 0 to below 1"
};

struct IntegerRange {
  std::int64_t least = std::numeric_limits<std::int64_t>::min();
  std::int64_t most = std::numeric_limits<std::int64_t>::max();

  static constexpr IntegerRange from(std::int64_t least) { return {.least = least}; }

  [[nodiscard]] std::string text() const;  // "a whole number from 1"
};

class Fields {
 public:
  void number(std::string key, double& target, Range range, std::string help);
  void flag(std::string key, bool& target, std::string help);
  void text(std::string key, std::string& target, std::string help);
  void choice(std::string key, std::string& target, std::vector<std::string> choices, std::string help);

  // Lists: [1, 2] in a file, 1,2 on the command line.
  void numbers(std::string key, std::vector<double>& target, Range range, std::string help);
  void integers(std::string key, std::vector<std::int64_t>& target, IntegerRange range, std::string help);
  void texts(std::string key, std::vector<std::string>& target, std::string help);

  // Names of values of any type.
  void choice_by_name(std::string key, std::vector<std::string> names, std::string help,
                      std::function<std::string()> get, std::function<void(const std::string&)> set);
  template <typename T>
  void choice(std::string key, T& target, const std::vector<std::pair<std::string, T>>& choices, std::string help) {
    std::vector<std::string> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    choice_by_name(
        std::move(key), std::move(names), std::move(help),
        [&target, choices] { return std::ranges::find(choices, target, &std::pair<std::string, T>::second)->first; },
        [&target, choices](const std::string& name) {
          target = std::ranges::find(choices, name, &std::pair<std::string, T>::first)->second;
        });
  }

  template <std::integral Integer>
  void integer(std::string key, Integer& target, IntegerRange range, std::string help) {
    range.least = std::max(range.least, limit(std::numeric_limits<Integer>::min()));
    range.most = std::min(range.most, limit(std::numeric_limits<Integer>::max()));
    add_integer(
        std::move(key), range, std::move(help), [&target] { return static_cast<std::int64_t>(target); },
        [&target](std::int64_t value) { target = static_cast<Integer>(value); });
  }

  // What must hold between fields: `problem` returns an empty text, or what is expected and what was given, naming
  // keys.
  void rule(std::function<std::string()> problem);

  // Writes the settings into the options, the later one winning, and asks every rule. Throws RecipeError, which for an
  // unknown key names the nearest one.
  void apply(std::span<const Setting> settings);

  struct Entry {
    std::string key;
    std::string value;     // as TOML
    std::string expected;  // "a number above 0"
    std::string help;
  };
  // In the order of description.
  [[nodiscard]] std::vector<Entry> entries() const;

  // A recipe that says everything; with comments, also what each key means.
  [[nodiscard]] std::string toml(bool with_help = false) const;

 private:
  struct Field {
    std::string key;
    std::string expected;
    std::string help;
    std::function<Value()> get;
    std::function<bool(const Value&)> set;  // false, and nothing changed, for what is not expected
  };

  template <std::integral Integer>
  static constexpr std::int64_t limit(Integer value) {
    return std::in_range<std::int64_t>(value) ? static_cast<std::int64_t>(value)
                                              : std::numeric_limits<std::int64_t>::max();
  }

  void add(Field field);
  template <typename T, typename Parse>
  Field list_field(std::string key, std::vector<T>& target, const std::string& each, std::string help,
                   const Parse& parse);
  void add_integer(std::string key, IntegerRange range, std::string help, std::function<std::int64_t()> get,
                   const std::function<void(std::int64_t)>& set);
  [[nodiscard]] const Field& find(const Setting& setting) const;

  std::vector<Field> fields_;
  std::vector<std::function<std::string()>> rules_;
};

// The name with the fewest insertions, deletions and replacements between it and `name`; the first of equals. A dotted
// name is also compared by its last part, so that "lr" finds "optimizer.lr". Empty when there is none to choose from.
[[nodiscard]] std::string nearest(const std::string& name, std::span<const std::string> known);

}  // namespace quest::recipe
