#include "data/formats/pickled_state.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <set>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

// Values refer to each other by their place in one list: no cycle, depth or repetition in the file costs more than its
// length.
using Place = std::size_t;

enum class Kind { atom, integer, text, tuple, list, dict, name, storage, tensor, settings, mark };

struct Value {
  Kind kind = Kind::atom;
  std::int64_t integer = 0;  // of a storage or tensor: its place in the list of them
  std::string text = {};
  std::vector<Place> items = {};  // of a dict: key, value, key, value ...
};

constexpr std::array<std::pair<std::string_view, ElementType>, 10> kStorages = {{
    {"torch.BoolStorage", ElementType::boolean},
    {"torch.ByteStorage", ElementType::uint8},
    {"torch.CharStorage", ElementType::int8},
    {"torch.ShortStorage", ElementType::int16},
    {"torch.IntStorage", ElementType::int32},
    {"torch.LongStorage", ElementType::int64},
    {"torch.HalfStorage", ElementType::float16},
    {"torch.BFloat16Storage", ElementType::bfloat16},
    {"torch.FloatStorage", ElementType::float32},
    {"torch.DoubleStorage", ElementType::float64},
}};
constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2";
constexpr std::string_view kParameter = "torch._utils._rebuild_parameter";
constexpr std::string_view kNamespace =
    "argparse.Namespace";  // the command line of a training, in many published files

class Machine {
 public:
  explicit Machine(std::string_view pickle) : pickle_(pickle) {}

  // Runs to the end of the program; the value it leaves.
  Place run() {
    while (!step()) {
    }
    return pop();
  }

  [[nodiscard]] const Value& at(Place place) const { return values_[place]; }
  [[nodiscard]] const PickledTensor& tensor_of(const Value& value) const {
    return tensors_[static_cast<std::size_t>(value.integer)];
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw FormatError("byte " + std::to_string(position_) + " of the pickle: " + reason);
  }

  std::string_view take(std::uint64_t count) {
    if (count > pickle_.size() - position_) fail("the pickle is cut off");
    const auto bytes = pickle_.substr(position_, count);
    position_ += count;
    return bytes;
  }

  template <typename Number>
  Number number() {
    Number value{};
    const auto bytes = take(sizeof value);
    std::memcpy(&value, bytes.data(), bytes.size());
    return value;
  }

  std::string line() {
    const auto end = pickle_.find('\n', position_);
    if (end == std::string_view::npos) fail("the pickle is cut off inside a name");
    std::string text(take(end - position_));
    ++position_;
    return text;
  }

  void push(Value value) {
    values_.push_back(std::move(value));
    stack_.push_back(values_.size() - 1);
  }
  void push(Kind kind, PickledTensor tensor) {
    push({.kind = kind, .integer = static_cast<std::int64_t>(tensors_.size())});
    tensors_.push_back(std::move(tensor));
  }

  Place pop() {
    if (stack_.empty()) fail("expected a value on the stack, found none");
    const Place place = stack_.back();
    stack_.pop_back();
    return place;
  }

  Place pop(Kind kind, const char* expected) {
    const Place place = pop();
    if (values_[place].kind != kind) fail(std::string("expected ") + expected + ", found another value");
    return place;
  }

  std::vector<Place> pop_to_mark() {
    const auto mark =
        std::find_if(stack_.rbegin(), stack_.rend(), [this](Place place) { return values_[place].kind == Kind::mark; });
    if (mark == stack_.rend()) fail("expected a mark on the stack, found none");
    std::vector<Place> items(mark.base(), stack_.end());
    stack_.erase(mark.base() - 1, stack_.end());
    return items;
  }

  void push_tuple(std::size_t size) {
    std::vector<Place> items(size);
    for (std::size_t i = size; i-- > 0;) items[i] = pop();
    push({.kind = Kind::tuple, .items = std::move(items)});
  }

  // Appends to the container on top of the stack.
  void extend(Kind kind, const char* expected, const std::vector<Place>& items) {
    const Place container = pop(kind, expected);
    if (kind == Kind::dict && items.size() % 2 != 0) fail("expected pairs of keys and values, found an odd number");
    auto& stored = values_[container].items;
    stored.insert(stored.end(), items.begin(), items.end());
    stack_.push_back(container);
  }

  void push_memo(std::uint32_t key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) fail("expected a remembered value, found none of that number");
    stack_.push_back(found->second);
  }

  void remember(std::uint32_t key) {
    const Place place = pop();
    memo_[key] = place;
    stack_.push_back(place);
  }

  void push_long(std::string_view bytes) {
    if (bytes.size() > sizeof(std::int64_t)) fail("expected an integer of at most 64 bits");
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    std::int64_t value = negative ? -1 : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    push({.kind = Kind::integer, .integer = value});
  }

  void push_name() {
    std::string name = line();
    name.append(".").append(line());
    const bool known = name == kOrderedDict || name == kTensor || name == kParameter || name == kNamespace ||
                       std::ranges::find(kStorages, name, &decltype(kStorages)::value_type::first) != kStorages.end();
    if (!known)
      fail("expected only what a state dict of tensors consists of, found the Python name " + in_quotes(name));
    push({.kind = Kind::name, .text = std::move(name)});
  }

  [[nodiscard]] std::int64_t integer(Place place) const {
    if (values_[place].kind != Kind::integer) fail("expected an integer, found another value");
    return values_[place].integer;
  }

  [[nodiscard]] std::vector<std::int64_t> integers(Place place) const {
    if (values_[place].kind != Kind::tuple) fail("expected a tuple of integers, found another value");
    std::vector<std::int64_t> result;
    for (const Place item : values_[place].items) result.push_back(integer(item));
    return result;
  }

  // ("storage", type, key, device, number of elements)
  void push_storage() {
    const auto items = values_[pop(Kind::tuple, "a tuple that describes a storage")].items;
    if (items.size() != 5 || values_[items[1]].kind != Kind::name || values_[items[2]].kind != Kind::text) {
      fail("expected a storage of five parts, found another tuple");
    }
    const auto* const type =
        std::ranges::find(kStorages, values_[items[1]].text, &decltype(kStorages)::value_type::first);
    if (type == kStorages.end()) fail("expected the type of a storage, found " + in_quotes(values_[items[1]].text));
    push(Kind::storage, {.storage = values_[items[2]].text, .type = type->second, .storage_size = integer(items[4])});
  }

  void call() {
    const auto arguments = values_[pop(Kind::tuple, "a tuple of arguments")].items;
    const std::string name = values_[pop(Kind::name, "a name to call")].text;
    if (name == kOrderedDict && arguments.empty()) {
      push({.kind = Kind::dict});
    } else if (name == kTensor) {
      push_tensor(arguments);
    } else if (name == kParameter && !arguments.empty() && values_[arguments[0]].kind == Kind::tensor) {
      stack_.push_back(arguments[0]);
    } else if (name == kNamespace) {
      push({.kind = Kind::settings});
    } else {
      fail("expected other arguments of " + name);
    }
  }

  // (storage, offset, shape, strides, requires_grad, hooks)
  void push_tensor(const std::vector<Place>& arguments) {
    if (arguments.size() < 4 || values_[arguments[0]].kind != Kind::storage) {
      fail("expected a tensor of a storage, offset, shape and strides, found other parts");
    }
    PickledTensor tensor = tensor_of(values_[arguments[0]]);
    tensor.offset = integer(arguments[1]);
    tensor.shape = integers(arguments[2]);
    tensor.strides = integers(arguments[3]);
    check_bounds(tensor);
    push(Kind::tensor, std::move(tensor));
  }

  // Sizes of 0 count as 1, so that the number of elements cannot be too large whichever way it is multiplied.
  void check_bounds(const PickledTensor& tensor) const {
    if (tensor.shape.size() != tensor.strides.size()) fail("expected as many strides as sizes of a tensor");
    auto elements = static_cast<std::int64_t>(format_of(tensor.type).bytes);
    std::int64_t last = tensor.offset;
    bool empty = false;
    bool fits = tensor.offset >= 0 && tensor.storage_size >= 0;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) {
      const std::int64_t size = tensor.shape[i];
      std::int64_t reach = 0;
      fits = fits && size >= 0 && tensor.strides[i] >= 0;
      fits = fits && !__builtin_mul_overflow(elements, std::max<std::int64_t>(size, 1), &elements);
      fits = fits && !__builtin_mul_overflow(std::max<std::int64_t>(size - 1, 0), tensor.strides[i], &reach);
      fits = fits && !__builtin_add_overflow(last, reach, &last);
      empty = empty || size == 0;
    }
    if (!fits || (empty ? tensor.offset > tensor.storage_size : last >= tensor.storage_size)) {
      fail("expected a tensor within its storage of " + std::to_string(tensor.storage_size) +
           " elements, found one that reaches beyond it");
    }
  }

  // Executes one instruction; true after the last.
  bool step();

  std::string_view pickle_;
  std::size_t position_ = 0;
  std::vector<Value> values_;
  std::vector<PickledTensor> tensors_;  // a storage is one without a shape
  std::vector<Place> stack_;
  std::map<std::uint32_t, Place> memo_;
};

// The instructions that torch.save writes, by their letters in Python's pickletools.
bool Machine::step() {
  const auto code = number<unsigned char>();
  switch (code) {
    case 0x80:
      take(1);
      break;  // protocol
    case '.':
      return true;
    case '(':
      push({.kind = Kind::mark});
      break;
    case 'N':
    case 0x88:
    case 0x89:
      push({});
      break;  // None, True, False
    case 'G':
      take(8);
      push({});
      break;  // a float
    case 'J':
      push({.kind = Kind::integer, .integer = number<std::int32_t>()});
      break;
    case 'K':
      push({.kind = Kind::integer, .integer = number<std::uint8_t>()});
      break;
    case 'M':
      push({.kind = Kind::integer, .integer = number<std::uint16_t>()});
      break;
    case 0x8a:
      push_long(take(number<std::uint8_t>()));
      break;
    case 'X':
      push({.kind = Kind::text, .text = std::string(take(number<std::uint32_t>()))});
      break;
    case ')':
      push_tuple(0);
      break;
    case 0x85:
      push_tuple(1);
      break;
    case 0x86:
      push_tuple(2);
      break;
    case 0x87:
      push_tuple(3);
      break;
    case 't':
      push({.kind = Kind::tuple, .items = pop_to_mark()});
      break;
    case ']':
      push({.kind = Kind::list});
      break;
    case '}':
      push({.kind = Kind::dict});
      break;
    case 'a':
      extend(Kind::list, "a list", {pop()});
      break;
    case 'e':
      extend(Kind::list, "a list", pop_to_mark());
      break;
    case 's': {
      const Place value = pop();
      extend(Kind::dict, "a dict", {pop(), value});
      break;
    }
    case 'u':
      extend(Kind::dict, "a dict", pop_to_mark());
      break;
    case 'q':
      remember(number<std::uint8_t>());
      break;
    case 'r':
      remember(number<std::uint32_t>());
      break;
    case 'h':
      push_memo(number<std::uint8_t>());
      break;
    case 'j':
      push_memo(number<std::uint32_t>());
      break;
    case 'c':
      push_name();
      break;
    case 'Q':
      push_storage();
      break;
    case 'R':
    case 0x81:
      call();
      break;
    case 'b':
      pop();
      break;  // attributes of an object: no tensor of a state dict is among them
    default:
      fail("expected an instruction that torch.save writes, found the code " + std::to_string(code));
  }
  return false;
}

// The value of a key of a dict.
std::optional<Place> find(const Machine& machine, const Value& dict, std::string_view key) {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& found = machine.at(dict.items[i]);
    if (found.kind == Kind::text && found.text == key) return dict.items[i + 1];
  }
  return std::nullopt;
}

std::vector<std::pair<std::string, PickledTensor>> tensors_of(const Machine& machine, const Value& dict) {
  std::set<std::string> seen;
  std::vector<std::pair<std::string, PickledTensor>> tensors;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const Value& key = machine.at(dict.items[i]);
    const Value& value = machine.at(dict.items[i + 1]);
    if (key.kind != Kind::text || value.kind != Kind::tensor) continue;
    if (!seen.insert(key.text).second) throw FormatError("the name " + in_quotes(key.text) + " stands twice");
    tensors.emplace_back(key.text, machine.tensor_of(value));
  }
  return tensors;
}

std::string keys_of(const Machine& machine, const Value& dict) {
  constexpr std::size_t kNamed = 8;
  std::string names;
  for (std::size_t i = 0; i + 1 < dict.items.size() && i < 2 * kNamed; i += 2) {
    names += (names.empty() ? "" : ", ") + in_quotes(machine.at(dict.items[i]).text);
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace

std::vector<std::pair<std::string, PickledTensor>> parse_pickled_state(std::string_view pickle) {
  constexpr int kDeepestWrapping = 4;
  Machine machine(pickle);
  const Value* dict = &machine.at(machine.run());
  for (int depth = 0; depth < kDeepestWrapping && dict->kind == Kind::dict; ++depth) {
    if (auto tensors = tensors_of(machine, *dict); !tensors.empty()) return tensors;
    auto inner = find(machine, *dict, "model");
    if (!inner) inner = find(machine, *dict, "state_dict");
    if (!inner) break;
    dict = &machine.at(*inner);
  }
  throw FormatError("expected a dict of tensors, or one under \"model\" or \"state_dict\"; found " +
                    (dict->kind == Kind::dict ? "a dict with " + keys_of(machine, *dict) : "another value"));
}

}  // namespace quest::data
