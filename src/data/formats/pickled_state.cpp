#include "data/formats/pickled_state.h"

#include <set>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

using Kind = PickledKind;

bool is_known(std::string_view name) {
  // argparse.Namespace: the command line of a training, in many published files.
  return is_name_of_torch_tensor(name) || name == "argparse.Namespace";
}

std::vector<std::pair<std::string, PickledTensor>> tensors_of(const Pickle& pickle, const PickledValue& dict) {
  std::set<std::string_view> seen;
  std::vector<std::pair<std::string, PickledTensor>> tensors;
  for (std::size_t i = 0; i + 1 < dict.items.size(); i += 2) {
    const PickledValue& key = pickle.at(dict.items[i]);
    if (key.kind != Kind::text) continue;
    auto tensor = tensor_at(pickle, pickle.at(dict.items[i + 1]));
    if (!tensor) continue;
    if (!seen.insert(key.text).second) throw FormatError("the name " + in_quotes(key.text) + " stands twice");
    tensors.emplace_back(key.text, std::move(*tensor));
  }
  return tensors;
}

std::string keys_of(const Pickle& pickle, const PickledValue& dict) {
  constexpr std::size_t kNamed = 8;
  std::string names;
  for (std::size_t i = 0; i + 1 < dict.items.size() && i < 2 * kNamed; i += 2) {
    names += (names.empty() ? "" : ", ") + in_quotes(pickle.at(dict.items[i]).text);
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace

std::vector<std::pair<std::string, PickledTensor>> parse_pickled_state(std::string_view bytes) {
  constexpr int kDeepestWrapping = 4;
  const auto pickle = parse_pickle(bytes, is_known);
  const auto* dict = &pickle.root();
  for (int depth = 0; depth < kDeepestWrapping && dict->kind == Kind::dict; ++depth) {
    if (auto tensors = tensors_of(pickle, *dict); !tensors.empty()) return tensors;
    const auto* inner = pickle.find(*dict, "model");
    if (inner == nullptr) inner = pickle.find(*dict, "state_dict");
    if (inner == nullptr) break;
    dict = inner;
  }
  throw FormatError("expected a dict of tensors, or one under \"model\" or \"state_dict\"; found " +
                    (dict->kind == Kind::dict ? "a dict with " + keys_of(pickle, *dict) : "another value"));
}

}  // namespace quest::data
