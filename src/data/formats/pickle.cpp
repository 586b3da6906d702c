#include "data/formats/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

using Kind = PickledKind;

constexpr std::string_view kOrderedDict = "collections.OrderedDict";
constexpr std::string_view kDefaultDict = "collections.defaultdict";
constexpr std::string_view kEncode = "_codecs.encode";  // how protocol 2 writes bytes: as text of Latin-1

[[noreturn]] void fail_in_pickle(std::size_t position, const std::string& reason) {
  throw FormatError("byte " + std::to_string(position) + " of the pickle: " + reason);
}

class Machine {
 public:
  Machine(std::string_view bytes, const std::function<bool(std::string_view)>& is_known_name)
      : bytes_(bytes), is_known_name_(is_known_name) {}

  Pickle run() {
    while (!step()) {
    }
    const Place root = pop();
    if (root + 1 != values().size()) values().push_back(values()[root]);
    pickle_.length = position_;
    return std::move(pickle_);
  }

 private:
  [[noreturn]] void fail(const std::string& reason) const { fail_in_pickle(position_, reason); }

  std::vector<PickledValue>& values() { return pickle_.values; }

  std::string_view take(std::uint64_t count) {
    if (count > bytes_.size() - position_) fail("the pickle is cut off");
    const auto bytes = bytes_.substr(position_, count);
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

  std::string_view line() {
    const auto end = bytes_.find('\n', position_);
    if (end == std::string_view::npos) fail("the pickle is cut off inside a name");
    const auto text = take(end - position_);
    ++position_;
    return text;
  }

  std::string_view keep(std::string text) { return pickle_.texts.emplace_back(std::move(text)); }

  void push(PickledValue value) {
    value.position = position_;
    values().push_back(std::move(value));
    stack_.push_back(values().size() - 1);
  }

  void push_text(Kind kind, std::uint64_t length) { push({.kind = kind, .text = take(length)}); }

  // Lists of labels hold millions of small numbers; each is one value.
  void push_integer(std::int64_t value) {
    constexpr std::int64_t kSmall = 1 << 16;
    if (value < 0 || value >= kSmall) return push({.kind = Kind::integer, .integer = value});
    const auto [found, is_new] = small_integers_.try_emplace(value, values().size());
    if (is_new) return push({.kind = Kind::integer, .integer = value});
    stack_.push_back(found->second);
  }

  Place pop() {
    if (stack_.empty()) fail("expected a value on the stack, found none");
    const Place place = stack_.back();
    stack_.pop_back();
    return place;
  }

  Place pop(Kind kind, const char* expected) {
    const Place place = pop();
    if (values()[place].kind != kind) fail(std::string("expected ") + expected + ", found another value");
    return place;
  }

  std::vector<Place> pop_to_mark() {
    const auto mark = std::find_if(stack_.rbegin(), stack_.rend(),
                                   [this](Place place) { return values()[place].kind == Kind::mark; });
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
    auto& stored = values()[container].items;
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
    if (bytes.size() > sizeof(std::int64_t)) {  // no number that matters, but a file may begin with one
      return push({.kind = Kind::bytes, .text = bytes});
    }
    const bool negative = !bytes.empty() && (static_cast<unsigned char>(bytes.back()) & 0x80U) != 0;
    std::int64_t value = negative ? -1 : 0;
    std::memcpy(&value, bytes.data(), bytes.size());
    push_integer(value);
  }

  void push_float() {
    std::uint64_t bits = 0;
    for (const char byte : take(sizeof bits)) bits = bits << 8 | static_cast<unsigned char>(byte);
    push({.kind = Kind::number, .number = std::bit_cast<double>(bits)});
  }

  void push_name(std::string_view module, std::string_view own) {
    const auto name = keep(std::string(module).append(".").append(own));
    if (name != kOrderedDict && name != kDefaultDict && name != kEncode && !is_known_name_(name)) {
      fail("expected only names that this format consists of, found the Python name " + in_quotes(name));
    }
    push({.kind = Kind::name, .text = name});
  }

  void call() {
    const Place arguments = pop(Kind::tuple, "a tuple of arguments");
    const Place name = pop(Kind::name, "a name to call");
    const auto called = values()[name].text;
    if (called == kOrderedDict || called == kDefaultDict) return push({.kind = Kind::dict});
    if (called == kEncode) return push_encoded(values()[arguments].items);
    push({.kind = Kind::object, .items = {name, arguments}});
  }

  void push_encoded(const std::vector<Place>& arguments) {
    const bool fits =
        arguments.size() == 2 && values()[arguments[0]].kind == Kind::text && values()[arguments[1]].text == "latin1";
    if (!fits) fail("expected bytes written as text of latin1, found other arguments of _codecs.encode");
    std::string bytes;
    const auto text = values()[arguments[0]].text;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if (byte < 0x80U) {
        bytes += text[i];
      } else if ((byte & 0xfcU) == 0xc0U && i + 1 < text.size()) {  // two bytes of UTF-8 for 0x80 to 0xff
        bytes += static_cast<char>((byte & 0x03U) << 6U | (static_cast<unsigned char>(text[++i]) & 0x3fU));
      } else {
        fail("expected letters of latin1, found another");
      }
    }
    push({.kind = Kind::bytes, .text = keep(std::move(bytes))});
  }

  // The attributes of an object.
  void build() {
    const Place state = pop();
    if (stack_.empty()) fail("expected an object on the stack, found none");
    if (auto& object = values()[stack_.back()]; object.kind == Kind::object) object.items.push_back(state);
  }

  // Executes one instruction; true after the last. By their letters in Python's pickletools.
  bool step();
  bool step_container(unsigned char code);
  bool step_scalar(unsigned char code);

  std::string_view bytes_;
  const std::function<bool(std::string_view)>& is_known_name_;
  Pickle pickle_;
  std::size_t position_ = 0;
  std::vector<Place> stack_;
  std::map<std::uint32_t, Place> memo_;
  std::map<std::int64_t, Place> small_integers_;
};

bool Machine::step() {
  const auto code = number<unsigned char>();
  switch (code) {
    case 0x80:
      take(1);
      return false;  // protocol
    case 0x95:
      take(8);
      return false;  // the length of what follows
    case '.':
      return true;
    case 'q':
      remember(number<std::uint8_t>());
      return false;
    case 'r':
      remember(number<std::uint32_t>());
      return false;
    case 0x94:
      remember(static_cast<std::uint32_t>(memo_.size()));
      return false;
    case 'h':
      push_memo(number<std::uint8_t>());
      return false;
    case 'j':
      push_memo(number<std::uint32_t>());
      return false;
    case 'c': {
      const auto module = line();
      push_name(module, line());
      return false;
    }
    case 0x93: {
      const auto own = values()[pop(Kind::text, "a name")].text;
      push_name(values()[pop(Kind::text, "a module")].text, own);
      return false;
    }
    case 'Q':
      push({.kind = Kind::persistent, .items = {pop()}});
      return false;
    case 'R':
    case 0x81:
      call();
      return false;
    case 'b':
      build();
      return false;
    default:
      if (step_container(code) || step_scalar(code)) return false;
      fail("expected an instruction that a pickle of data has, found the code " + std::to_string(code));
  }
}

bool Machine::step_container(unsigned char code) {
  switch (code) {
    case '(':
      push({.kind = Kind::mark});
      return true;
    case ')':
      push_tuple(0);
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      push_tuple(code - 0x84U);
      return true;
    case 't':
      push({.kind = Kind::tuple, .items = pop_to_mark()});
      return true;
    case ']':
      push({.kind = Kind::list});
      return true;
    case '}':
      push({.kind = Kind::dict});
      return true;
    case 'a':
      extend(Kind::list, "a list", {pop()});
      return true;
    case 'e':
      extend(Kind::list, "a list", pop_to_mark());
      return true;
    case 's': {
      const Place value = pop();
      extend(Kind::dict, "a dict", {pop(), value});
      return true;
    }
    case 'u':
      extend(Kind::dict, "a dict", pop_to_mark());
      return true;
    default:
      return false;
  }
}

bool Machine::step_scalar(unsigned char code) {
  switch (code) {
    case 'N':
      push({});
      return true;
    case 0x88:
    case 0x89:
      push({.kind = Kind::boolean, .integer = code == 0x88 ? 1 : 0});
      return true;
    case 'G':
      push_float();
      return true;
    case 'J':
      push_integer(number<std::int32_t>());
      return true;
    case 'K':
      push_integer(number<std::uint8_t>());
      return true;
    case 'M':
      push_integer(number<std::uint16_t>());
      return true;
    case 0x8a:
      push_long(take(number<std::uint8_t>()));
      return true;
    case 'X':
      push_text(Kind::text, number<std::uint32_t>());
      return true;
    case 0x8c:
      push_text(Kind::text, number<std::uint8_t>());
      return true;
    case 'B':
      push_text(Kind::bytes, number<std::uint32_t>());
      return true;
    case 'C':
      push_text(Kind::bytes, number<std::uint8_t>());
      return true;
    case 0x8e:
    case 0x96:
      push_text(Kind::bytes, number<std::uint64_t>());
      return true;
    default:
      return false;
  }
}

}  // namespace

const PickledValue* Pickle::find(const PickledValue& dict, std::string_view key) const {
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickledValue& found = at(dict.items[i]);
    if (found.kind == Kind::text && found.text == key) return &at(dict.items[i + 1]);
  }
  return nullptr;
}

Pickle parse_pickle(std::string_view bytes, const std::function<bool(std::string_view)>& is_known_name) {
  return Machine(bytes, is_known_name).run();
}

void fail_at(const PickledValue& value, const std::string& reason) { fail_in_pickle(value.position, reason); }

}  // namespace quest::data
