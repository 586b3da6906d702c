#pragma once

// Reads a pickle without executing it. Needs no torch.
//
// A pickle is a program that can call any Python function. Here nothing is called: a call becomes a value that says
// what was to be called with what, and only names that the reader of a format knows may be called at all; any other
// refuses the whole file.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

// Values refer to each other by their place in one list: no cycle, depth or repetition in the file costs more than its
// length.
using Place = std::size_t;

enum class PickledKind {
  none,
  boolean,
  integer,
  number,
  text,
  bytes,
  tuple,
  list,
  dict,
  name,
  persistent,
  object,
  mark
};

struct PickledValue {
  PickledKind kind = PickledKind::none;
  std::size_t position = 0;  // behind the instruction that made it, in bytes
  std::int64_t integer = 0;  // of a boolean too
  double number = 0.0;
  std::string_view text = {};     // of text, bytes, and a name: "module.name"
  std::vector<Place> items = {};  // a dict: key, value, key, value …; an object: name, arguments, and its states;
                                  // a persistent: what identifies it
};

class Pickle {
 public:
  [[nodiscard]] const PickledValue& root() const { return values.back(); }
  [[nodiscard]] const PickledValue& at(Place place) const { return values[place]; }
  // What a key of a dict stands for; none where it does not.
  [[nodiscard]] const PickledValue* find(const PickledValue& dict, std::string_view key) const;

  std::vector<PickledValue> values;  // the last one is what the program leaves
  std::deque<std::string> texts;     // those that do not stand in the pickle as they are
  std::size_t length = 0;            // of the pickle, whatever follows it
};

// The bytes, which have to outlive the result, may go on behind the pickle. Throws FormatError with the byte.
[[nodiscard]] Pickle parse_pickle(std::string_view bytes, const std::function<bool(std::string_view)>& is_known_name);

// A FormatError about a value.
[[noreturn]] void fail_at(const PickledValue& value, const std::string& reason);

}  // namespace quest::data
