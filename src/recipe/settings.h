#pragma once

// What a recipe says, before anyone knows what it means: keys, values and where each was written.

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace quest::recipe {

// The recipe cannot be obeyed. The message begins with the place: "my.toml:7:1: ..." or "--set lr=x: ...".
class RecipeError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
};

// A value from the command line, where nothing tells a text from a number: the field it is meant for decides.
struct Word {
  std::string text;

  bool operator==(const Word&) const = default;
};

using Scalar = std::variant<bool, std::int64_t, double, std::string, Word>;
using List = std::vector<Scalar>;
using Value = std::variant<bool, std::int64_t, double, std::string, Word, List>;

struct Setting {
  std::string key;  // with its sections: "optimizer.lr"
  Value value;
  std::string place;
};

// In the order of the file. Throws RecipeError for what is no TOML, and for dates and lists of lists, which no
// field takes.
[[nodiscard]] std::vector<Setting> settings_of_toml(std::string_view text, const std::string& name);

// "key=value", as --set takes it. Throws RecipeError.
[[nodiscard]] Setting setting_of_assignment(const std::string& text);

// As TOML writes it; a Word as it is.
[[nodiscard]] std::string text_of(const Value& value);

}  // namespace quest::recipe
