#include "data/formats/pickled_graphs.h"

#include <algorithm>
#include <array>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

using Kind = PickledKind;

// Objects of these are taken for what they hold; nothing of theirs is called.
constexpr std::string_view kGeometric = "torch_geometric.";
constexpr std::array<std::string_view, 4> kPlain = {"builtins.dict", "__builtin__.dict", "builtins.list",
                                                    "__builtin__.list"};

bool is_known(std::string_view name) {
  return is_name_of_array(name) || name.starts_with(kGeometric) || std::ranges::find(kPlain, name) != kPlain.end();
}

class Reader {
 public:
  Reader(PickledGraphs& result, std::span<const std::string> tuple_fields)
      : result_(result), pickle_(result.pickle), tuple_fields_(tuple_fields) {}

  void read() {
    const auto& root = pickle_.root();
    if (root.kind == Kind::list) return read_list(root);
    if (root.kind == Kind::tuple && root.items.size() >= 2 && at(root.items[1]).kind == Kind::dict) {
      result_.is_collated = true;
      result_.collated = fields_of(at(root.items[0]));
      result_.slices = fields_of(at(root.items[1]));
      return;
    }
    throw FormatError("expected a list of graphs, or graphs collated by PyTorch Geometric; found another value");
  }

 private:
  [[nodiscard]] const PickledValue& at(Place place) const { return pickle_.at(place); }

  void read_list(const PickledValue& list) {
    result_.graphs.reserve(list.items.size());
    for (const Place item : list.items) result_.graphs.push_back(fields_of(at(item)));
  }

  [[nodiscard]] PickledFields fields_of(const PickledValue& value) {
    PickledFields fields;
    if (value.kind == Kind::tuple) {
      for (std::size_t i = 0; i < std::min(value.items.size(), tuple_fields_.size()); ++i) {
        add(fields, tuple_fields_[i], at(value.items[i]));
      }
      return fields;
    }
    const auto& dict = dict_of(value);
    for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
      const auto& key = at(dict.items[i]);
      if (key.kind == Kind::text) add(fields, std::string(key.text), at(dict.items[i + 1]));
    }
    return fields;
  }

  // Of an object what it holds: directly, or as torch_geometric 2 does, under _store and _mapping.
  [[nodiscard]] const PickledValue& dict_of(const PickledValue& value) const {
    constexpr int kDeepest = 8;
    const auto* found = &value;
    for (int depth = 0; depth < kDeepest; ++depth) {
      if (found->kind == Kind::object) {
        if (found->items.size() < 3) break;
        found = &at(found->items[2]);
        continue;
      }
      if (found->kind != Kind::dict) break;
      const auto* inner = pickle_.find(*found, "_store");
      if (inner == nullptr) inner = pickle_.find(*found, "_mapping");
      if (inner == nullptr) return *found;
      found = inner;
    }
    fail_at(value, "expected a graph as a tuple, a dict or an object of PyTorch Geometric, found another value");
  }

  void add(PickledFields& fields, std::string name, const PickledValue& value) {
    if (auto tensor = tensor_at(pickle_, value)) {
      fields.emplace_back(std::move(name), std::move(*tensor));
    } else if (value.kind == Kind::list && !value.items.empty()) {
      if (auto numbers = numbers_of(value)) fields.emplace_back(std::move(name), std::move(*numbers));
    }
  }

  [[nodiscard]] std::optional<PickledTensor> numbers_of(const PickledValue& list) {
    std::string bytes(list.items.size() * sizeof(std::int64_t), '\0');
    for (std::size_t i = 0; i < list.items.size(); ++i) {
      const auto& item = at(list.items[i]);
      std::int64_t number = item.integer;
      if (const auto scalar = tensor_at(pickle_, item)) {
        const bool is_whole = scalar->type == ElementType::int64 && scalar->elements() == 1 && scalar->content;
        if (!is_whole) return std::nullopt;
        std::copy_n(scalar->content->data(), sizeof number, reinterpret_cast<char*>(&number));
      } else if (item.kind != Kind::integer) {
        return std::nullopt;
      }
      std::copy_n(reinterpret_cast<const char*>(&number), sizeof number, bytes.data() + i * sizeof number);
    }
    const auto count = static_cast<std::int64_t>(list.items.size());
    const auto& kept = result_.numbers.emplace_back(std::move(bytes));
    return PickledTensor{
        .type = ElementType::int64, .storage_size = count, .shape = {count}, .strides = {1}, .content = kept};
  }

  PickledGraphs& result_;
  const Pickle& pickle_;
  std::span<const std::string> tuple_fields_;
};

}  // namespace

PickledGraphs parse_pickled_graphs(std::string_view bytes, std::span<const std::string> tuple_fields) {
  PickledGraphs result{.pickle = parse_pickle(bytes, is_known)};
  Reader(result, tuple_fields).read();
  return result;
}

}  // namespace quest::data
