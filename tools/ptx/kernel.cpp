#include "tools/ptx/kernel.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <optional>
#include <set>
#include <stdexcept>

#include "tools/ptx/decode.h"

namespace quest::testing::ptx {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kSpace);
  return begin == std::string_view::npos ? std::string_view{}
                                         : text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// Takes what stands before the first of the separators off the front of the text, and the separator too.
std::string_view take_until(std::string_view& text, std::string_view separators) {
  const std::size_t end = text.find_first_of(separators);
  const std::string_view taken = text.substr(0, end);
  text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
  return trimmed(taken);
}

// Commas within braces or brackets separate nothing.
std::vector<std::string_view> split_operands(std::string_view text) {
  std::vector<std::string_view> operands;
  int depth = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '{' || text[i] == '[' ? 1 : text[i] == '}' || text[i] == ']' ? -1 : 0;
    if (depth == 0 && (text[i] == ',' || text[i] == '|')) {
      operands.push_back(trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  operands.push_back(trimmed(text.substr(begin)));
  return operands;
}

std::optional<std::uint64_t> constant_value(std::string_view text) {
  const bool negative = text.starts_with('-');
  std::string_view digits = negative ? text.substr(1) : text;
  if (digits.empty() || digits[0] < '0' || digits[0] > '9') return std::nullopt;
  int base = 10;
  if (digits.starts_with("0x") || digits.starts_with("0f") || digits.starts_with("0d")) {
    base = 16;
    digits.remove_prefix(2);
  }
  if (digits.ends_with('U')) digits.remove_suffix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return negative ? 0 - value : value;
}

std::int64_t offset_value(std::string_view text) {
  const auto value = constant_value(text.starts_with('+') ? text.substr(1) : text);
  if (!value) throw std::runtime_error("PTX: no offset: " + std::string(text));
  return static_cast<std::int64_t>(*value);
}

std::size_t bytes_of(std::string_view type) {
  std::size_t bits = 0;
  std::from_chars(type.data() + 2, type.data() + type.size(), bits);  // .b8, .u64, .f32
  return bits / 8;
}

struct Variable {
  std::string name;
  std::size_t size = 0;
  std::size_t alignment = 1;
};

// ".align 8 .b8 name[816]" or ".u64 name"
Variable variable(std::string_view text) {
  Variable result;
  std::size_t element = 1;
  while (text.starts_with('.')) {
    const std::string_view word = take_until(text, kSpace);
    if (word == ".align") {
      result.alignment = static_cast<std::size_t>(offset_value(take_until(text, kSpace)));
    } else if (word != ".param" && word != ".shared") {
      element = bytes_of(word);
      result.alignment = std::max(result.alignment, element);
    }
    text = trimmed(text);
  }
  result.name = take_until(text, "[");
  const std::string_view count = take_until(text, "]");
  result.size = element * (count.empty() ? 1 : static_cast<std::size_t>(offset_value(count)));
  return result;
}

// Reads the body of one kernel. Names of registers and labels belong to the braces they stand in.
class Reader {
 public:
  Reader(Kernel& kernel, std::string_view text) : kernel_(kernel), text_(text) { scopes_.push_back({}); }

  void read() {
    read_parameters();
    take_until(text_, "{");
    while (open_) {
      text_ = trimmed(text_);
      if (text_.starts_with("//")) {
        take_until(text_, "\n");
      } else if (text_.starts_with('{')) {
        scopes_.push_back({.parent = scope_});
        scope_ = static_cast<int>(scopes_.size()) - 1;
        text_.remove_prefix(1);
      } else if (text_.starts_with('}')) {
        open_ = scope_ != 0;
        scope_ = scopes_[at(scope_)].parent;
        text_.remove_prefix(1);
      } else {
        read_statement();
      }
    }
    for (const auto& [instruction, scope, label] : branches_) {
      kernel_.instructions[instruction].target = find_label(scope, label);
    }
  }

 private:
  struct Scope {
    int parent = kNone;
    std::map<std::string, int, std::less<>> registers{};
    std::map<std::string, int, std::less<>> labels{};
  };
  struct Branch {
    std::size_t instruction;
    int scope;
    std::string label;
  };

  static std::size_t at(int index) { return static_cast<std::size_t>(index); }

  void read_parameters() {
    take_until(text_, "(");
    std::string_view list = take_until(text_, ")");
    std::size_t end = 0;
    while (!trimmed(list).empty()) {
      const Variable parameter = variable(take_until(list, ","));
      end = (end + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
      symbols_[parameter.name] = end;
      kernel_.parameters.push_back({end, parameter.size});
      end += parameter.size;
    }
  }

  void read_statement() {
    const std::size_t end = text_.find_first_of(";:\n");
    const bool label = end != std::string_view::npos && text_[end] == ':' && text_.substr(end, 2) != "::";
    if (label) {
      const auto next = static_cast<int>(kernel_.instructions.size());
      scopes_[at(scope_)].labels.emplace(take_until(text_, ":"), next);
      return;
    }
    const std::string_view statement = take_until(text_, ";");
    if (statement.starts_with('.')) {
      read_declaration(statement);
    } else {
      read_instruction(statement);
    }
  }

  void read_declaration(std::string_view statement) {
    std::string_view rest = statement;
    const std::string_view kind = take_until(rest, kSpace);
    if (kind == ".reg" && scope_ != 0) {
      take_until(rest, kSpace);
      for (const std::string_view name : split_operands(rest)) {
        scopes_[at(scope_)].registers.emplace(name, kernel_.registers++);
      }
    } else if (kind == ".shared") {
      const Variable shared = variable(statement);
      kernel_.static_shared = (kernel_.static_shared + shared.alignment - 1) / shared.alignment * shared.alignment;
      symbols_[shared.name] = kernel_.static_shared;
      kernel_.static_shared += shared.size;
    } else if (kind != ".reg" && kind != ".pragma") {
      throw std::runtime_error("PTX: unknown declaration: " + std::string(statement));
    }
  }

  void read_instruction(std::string_view statement) {
    Instruction instruction;
    instruction.text = statement;
    std::string_view rest = statement;
    if (rest.starts_with('@')) {
      std::string_view guard = take_until(rest, kSpace).substr(1);
      instruction.guard_negated = guard.starts_with('!');
      instruction.guard = register_named(guard.substr(instruction.guard_negated ? 1 : 0));
      rest = trimmed(rest);
    }
    std::string_view name = take_until(rest, kSpace);
    std::vector<std::string_view> parts;
    while (!name.empty()) parts.push_back(take_until(name, "."));
    rest = trimmed(rest);
    if (parts[0] == "bra") {
      branches_.push_back({kernel_.instructions.size(), scope_, std::string(rest)});
    } else if (!rest.empty()) {
      for (const std::string_view operand : split_operands(rest)) read_operand(operand, instruction);
    }
    decode(parts, instruction);
    kernel_.instructions.push_back(std::move(instruction));
  }

  void read_operand(std::string_view text, Instruction& instruction) {
    if (text.starts_with('{')) {
      const std::size_t before = instruction.operands.size();
      for (const std::string_view element : split_operands(text.substr(1, text.size() - 2))) {
        instruction.operands.push_back(operand(element));
      }
      if (before == 0) instruction.vector = static_cast<int>(instruction.operands.size());
      return;
    }
    if (text.starts_with('[')) {
      text = trimmed(text.substr(1, text.size() - 2));
      if (text.find(',') != std::string_view::npos) {  // a tensor map and where in the tensor
        for (const std::string_view part : split_operands(text)) read_operand(part, instruction);
        return;
      }
      const std::size_t plus = text.find('+');
      if (plus != std::string_view::npos) instruction.offset = offset_value(text.substr(plus + 1));
      text = text.substr(0, plus);
    }
    instruction.operands.push_back(operand(text));
  }

  int operand(std::string_view text) {
    if (const auto value = constant_value(text)) return constant(*value);
    if (const auto symbol = symbols_.find(text); symbol != symbols_.end()) return constant(symbol->second);
    static const std::map<std::string_view, Special> specials{
        {"%tid.x", Special::thread},     {"%ctaid.x", Special::block_x}, {"%ctaid.y", Special::block_y},
        {"%ctaid.z", Special::block_z},  {"%ntid.x", Special::threads},  {"%nctaid.x", Special::blocks_x},
        {"%nctaid.y", Special::blocks_y}};
    if (const auto special = specials.find(text); special != specials.end()) {
      const auto [found, added] = kernel_.specials.try_emplace(special->second, kernel_.registers);
      if (added) ++kernel_.registers;
      return found->second;
    }
    // Dynamic shared memory is the only variable that is declared outside kernels; it lies behind those within.
    if (text.starts_with("_Z")) return constant(kernel_.dynamic_shared());
    return register_named(text);
  }

  int constant(std::uint64_t value) {
    const auto [found, added] = kernel_.constants.try_emplace(value, kernel_.registers);
    if (added) ++kernel_.registers;
    return found->second;
  }

  int register_named(std::string_view name) {
    for (int scope = scope_; scope != 0; scope = scopes_[at(scope)].parent) {
      const auto& registers = scopes_[at(scope)].registers;
      if (const auto found = registers.find(name); found != registers.end()) return found->second;
    }
    const bool special = name.find('.') != std::string_view::npos;
    if (special || (!name.starts_with('%') && name != "_"))
      throw std::runtime_error("PTX: unknown name: " + std::string(name));
    const auto [found, added] = scopes_[0].registers.try_emplace(std::string(name), kernel_.registers);
    if (added) ++kernel_.registers;
    return found->second;
  }

  [[nodiscard]] int find_label(int scope, const std::string& label) const {
    for (; scope != kNone; scope = scopes_[at(scope)].parent) {
      const auto& labels = scopes_[at(scope)].labels;
      if (const auto found = labels.find(label); found != labels.end()) return found->second;
    }
    throw std::runtime_error("PTX: unknown label: " + label);
  }

  Kernel& kernel_;
  std::string_view text_;
  bool open_ = true;
  int scope_ = 0;
  std::vector<Scope> scopes_;
  std::map<std::string, std::uint64_t, std::less<>> symbols_;
  std::vector<Branch> branches_;
};

}  // namespace

const Kernel& Module::kernel(const std::string& name) {
  const auto [found, added] = kernels_.try_emplace(name);
  if (added) {
    const std::size_t entry = text_.find(".entry " + name + "(");
    if (entry == std::string::npos) throw std::runtime_error("PTX: no kernel " + name);
    found->second.name = name;
    Reader(found->second, std::string_view(text_).substr(entry)).read();
  }
  return found->second;
}

}  // namespace quest::testing::ptx
