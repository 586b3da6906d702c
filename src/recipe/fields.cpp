#include "recipe/fields.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>

namespace quest::recipe {
namespace {

template <typename Number>
std::optional<Number> parsed(const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> number_in(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return static_cast<double>(*integer);
  if (const auto* word = std::get_if<Word>(&value)) return parsed<double>(word->text);
  return std::nullopt;
}

std::optional<std::int64_t> integer_in(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return *integer;
  if (const auto* word = std::get_if<Word>(&value)) return parsed<std::int64_t>(word->text);
  return std::nullopt;
}

std::optional<std::string> text_in(const Value& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return *text;
  if (const auto* word = std::get_if<Word>(&value)) return word->text;
  return std::nullopt;
}

std::optional<bool> flag_in(const Value& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (value == Value(Word{"true"})) return true;
  if (value == Value(Word{"false"})) return false;
  return std::nullopt;
}

List items_of(const Value& value) {
  if (const auto* list = std::get_if<List>(&value)) return *list;
  const auto* word = std::get_if<Word>(&value);
  if (word == nullptr) return {false};  // no element takes it
  std::string text = word->text;
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  List items;
  for (std::size_t begin = 0; begin < text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    const auto first = std::min(text.find_first_not_of(' ', begin), end);
    items.emplace_back(Word{text.substr(first, end - first)});
    begin = end + 1;
  }
  return items;
}

std::string joined(std::span<const std::string> words) {
  std::string text;
  for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string without_point_zero(double number) {
  auto text = text_of(number);
  if (text.ends_with(".0")) text.erase(text.size() - 2);
  return text;
}

std::string section_of(const std::string& key) {
  const auto dot = key.rfind('.');
  return dot == std::string::npos ? "" : key.substr(0, dot);
}

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0U);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row.back();
}

}  // namespace

bool Range::holds(double value) const {
  const bool not_below = least_is_excluded ? value > least : value >= least;
  const bool not_above = most_is_excluded ? value < most : value <= most;
  return std::isfinite(value) && not_below && not_above;
}

std::string Range::text() const {
  constexpr Range kAny{};
  std::string text = "a number";
  if (least != kAny.least) text += (least_is_excluded ? " above " : " from ") + without_point_zero(least);
  if (most != kAny.most) text += (most_is_excluded ? " to below " : " to ") + without_point_zero(most);
  return text;
}

std::string IntegerRange::text() const {
  constexpr IntegerRange kAny{};
  std::string text = "a whole number";
  if (least != kAny.least) text += " from " + std::to_string(least);
  if (most < std::numeric_limits<std::int32_t>::max()) text += " to " + std::to_string(most);
  return text;
}

// "each a number above 0"; a word of the command line is cut at its commas.
template <typename T, typename Parse>
Fields::Field Fields::list_field(std::string key, std::vector<T>& target, const std::string& each, std::string help,
                                 const Parse& parse) {
  return {std::move(key), "a list, each " + each, std::move(help),
          [&target] { return Value(List(target.begin(), target.end())); },
          [&target, parse](const Value& value) {
            std::vector<T> items;
            for (const auto& scalar : items_of(value)) {
              const auto item = parse(std::visit([](auto one) { return Value(std::move(one)); }, scalar));
              if (!item) return false;
              items.push_back(*item);
            }
            target = std::move(items);
            return true;
          }};
}

void Fields::add(Field field) {
  for (const Field& other : fields_) {
    if (other.key == field.key) throw std::logic_error("the key \"" + field.key + "\" is described twice");
  }
  fields_.push_back(std::move(field));
}

void Fields::number(std::string key, double& target, Range range, std::string help) {
  add({std::move(key), range.text(), std::move(help), [&target] { return Value(target); },
       [&target, range](const Value& value) {
         const auto number = number_in(value);
         if (!number || !range.holds(*number)) return false;
         target = *number;
         return true;
       }});
}

void Fields::add_integer(std::string key, IntegerRange range, std::string help, std::function<std::int64_t()> get,
                         const std::function<void(std::int64_t)>& set) {
  add({std::move(key), range.text(), std::move(help), [get = std::move(get)] { return Value(get()); },
       [set, range](const Value& value) {
         const auto integer = integer_in(value);
         if (!integer || *integer < range.least || *integer > range.most) return false;
         set(*integer);
         return true;
       }});
}

void Fields::flag(std::string key, bool& target, std::string help) {
  add({std::move(key), "true or false", std::move(help), [&target] { return Value(target); },
       [&target](const Value& value) {
         const auto flag = flag_in(value);
         if (flag) target = *flag;
         return flag.has_value();
       }});
}

void Fields::text(std::string key, std::string& target, std::string help) {
  add({std::move(key), "a text", std::move(help), [&target] { return Value(target); },
       [&target](const Value& value) {
         const auto text = text_in(value);
         if (text) target = *text;
         return text.has_value();
       }});
}

void Fields::choice_by_name(std::string key, std::vector<std::string> names, std::string help,
                            std::function<std::string()> get, std::function<void(const std::string&)> set) {
  const auto expected = "one of " + joined(names);
  add({std::move(key), expected, std::move(help), [get = std::move(get)] { return Value(get()); },
       [names = std::move(names), set = std::move(set)](const Value& value) {
         const auto text = text_in(value);
         if (!text || std::ranges::find(names, *text) == names.end()) return false;
         set(*text);
         return true;
       }});
}

void Fields::choice(std::string key, std::string& target, std::vector<std::string> choices, std::string help) {
  choice_by_name(
      std::move(key), std::move(choices), std::move(help), [&target] { return target; },
      [&target](const std::string& name) { target = name; });
}

void Fields::numbers(std::string key, std::vector<double>& target, Range range, std::string help) {
  add(list_field(std::move(key), target, range.text(), std::move(help), [range](const Value& value) {
    const auto number = number_in(value);
    return number && range.holds(*number) ? number : std::nullopt;
  }));
}

void Fields::integers(std::string key, std::vector<std::int64_t>& target, IntegerRange range, std::string help) {
  add(list_field(std::move(key), target, range.text(), std::move(help), [range](const Value& value) {
    const auto integer = integer_in(value);
    return integer && *integer >= range.least && *integer <= range.most ? integer : std::nullopt;
  }));
}

void Fields::texts(std::string key, std::vector<std::string>& target, std::string help) {
  add(list_field(std::move(key), target, "a text", std::move(help), text_in));
}

void Fields::rule(std::function<std::string()> problem) { rules_.push_back(std::move(problem)); }

const Fields::Field& Fields::find(const Setting& setting) const {
  const auto found = std::ranges::find(fields_, setting.key, &Field::key);
  if (found != fields_.end()) return *found;
  std::vector<std::string> known(fields_.size());
  std::ranges::transform(fields_, known.begin(), &Field::key);
  throw RecipeError(setting.place + ": there is no key \"" + setting.key + "\"; the nearest is \"" +
                    nearest(setting.key, known) + "\"");
}

void Fields::apply(std::span<const Setting> settings) {
  for (const Setting& setting : settings) {
    const Field& field = find(setting);
    if (!field.set(setting.value)) {
      throw RecipeError(setting.place + ": " + field.key + ": expected " + field.expected + ", got " +
                        text_of(setting.value));
    }
  }
  for (const auto& rule : rules_) {
    if (const auto problem = rule(); !problem.empty())
      throw RecipeError("the recipe does not fit together: " + problem);
  }
}

std::vector<Fields::Entry> Fields::entries() const {
  std::vector<Entry> entries;
  entries.reserve(fields_.size());
  for (const Field& field : fields_) entries.push_back({field.key, text_of(field.get()), field.expected, field.help});
  return entries;
}

std::string Fields::toml(bool with_help) const {
  std::string text;
  std::string section;
  // Keys of one section stand together, whoever described them; keys without a section must come first.
  auto sorted = entries();
  std::vector<std::string> order = {""};
  for (const Entry& entry : sorted) {
    if (const auto name = section_of(entry.key); std::ranges::find(order, name) == order.end()) order.push_back(name);
  }
  std::ranges::stable_sort(
      sorted, {}, [&](const Entry& entry) { return std::ranges::find(order, section_of(entry.key)) - order.begin(); });
  for (const Entry& entry : sorted) {
    if (const auto name = section_of(entry.key); name != section) {
      section = name;
      text += (text.empty() ? "[" : "\n[") + section + "]\n";
    }
    if (with_help) text += "# " + entry.help + " (" + entry.expected + ")\n";
    text += last_part(entry.key) + " = " + entry.value + "\n";
  }
  return text;
}

std::string nearest(const std::string& name, std::span<const std::string> known) {
  const auto distance = [&](const std::string& other) {
    const std::size_t elsewhere = 1;  // the same section is nearer than another one
    return std::min(edit_distance(name, other), elsewhere + edit_distance(last_part(name), last_part(other)));
  };
  const auto found = std::ranges::min_element(known, {}, distance);
  return found == known.end() ? "" : *found;
}

}  // namespace quest::recipe
