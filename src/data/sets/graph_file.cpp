#include "data/sets/graph_file.h"

#include <array>
#include <charconv>
#include <map>
#include <sstream>

#include "data/formats/format_error.h"
#include "data/sets/made_file.h"
#include "data/weights/safetensors.h"

namespace quest::data {
namespace {

constexpr std::array<std::pair<GraphTask, std::string_view>, 4> kTasks = {{{GraphTask::node_classes, "node_classes"},
                                                                           {GraphTask::graph_classes, "graph_classes"},
                                                                           {GraphTask::graph_targets, "graph_targets"},
                                                                           {GraphTask::pairs, "pairs"}}};

using Metadata = std::map<std::string, std::string>;

std::string joined(const std::vector<std::int64_t>& numbers) {
  std::string text;
  for (const auto number : numbers) {
    if (!text.empty()) text += " ";
    text += std::to_string(number);
  }
  return text;
}

const std::string& text_of(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) {
    throw FormatError("expected the entry " + in_quotes(key) + " in the metadata of a set of graphs, found none");
  }
  return found->second;
}

std::int64_t number_of(const std::string& word, const std::string& key) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  if (error != std::errc() || end != word.data() + word.size() || number < 0) {
    throw FormatError("metadata " + in_quotes(key) + ": expected a whole number, found " + in_quotes(word));
  }
  return number;
}

std::vector<std::string> words_of(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<std::int64_t> numbers_of(const Metadata& metadata, const std::string& key) {
  std::vector<std::int64_t> numbers;
  if (!metadata.contains(key)) return numbers;
  for (const auto& word : words_of(metadata.at(key))) numbers.push_back(number_of(word, key));
  return numbers;
}

GraphSchema schema_of(const Metadata& metadata) {
  const auto& task = text_of(metadata, "task");
  const auto* const found = std::ranges::find(kTasks, task, &decltype(kTasks)::value_type::second);
  if (found == kTasks.end()) {
    throw FormatError("metadata \"task\": expected node_classes, graph_classes, graph_targets or pairs, found " +
                      in_quotes(task));
  }
  return {.name = text_of(metadata, "name"),
          .task = found->first,
          .node_categories = numbers_of(metadata, "node_categories"),
          .edge_categories = numbers_of(metadata, "edge_categories"),
          .outputs = number_of(text_of(metadata, "outputs"), "outputs")};
}

GraphSet::Splits splits_of(const Metadata& metadata) {
  const auto words = words_of(text_of(metadata, "splits"));
  if (words.size() % 3 != 0) {
    throw FormatError("metadata \"splits\": expected a name and two numbers for each split, found " +
                      std::to_string(words.size()) + " words");
  }
  GraphSet::Splits splits;
  for (std::size_t i = 0; i < words.size(); i += 3) {
    splits.emplace_back(words[i], GraphRange{number_of(words[i + 1], "splits"), number_of(words[i + 2], "splits")});
  }
  return splits;
}

GraphSet set_of(TensorFile& file) {
  GraphTensors tensors;
  GraphTensors::each(tensors, [&](const char* name, at::Tensor& tensor) {
    for (auto& [own, found] : file.tensors) {
      if (own == name) tensor = std::move(found);
    }
  });
  return {schema_of(file.metadata), splits_of(file.metadata), std::move(tensors)};
}

}  // namespace

void save_graph_set(const std::filesystem::path& path, const GraphSet& set, const std::string& key) {
  const auto& schema = set.schema();
  TensorFile file;
  GraphTensors::each(set.tensors(), [&](const char* name, const at::Tensor& tensor) {
    if (tensor.defined()) file.tensors.emplace_back(name, tensor);
  });
  std::string splits;
  for (const auto& [name, range] : set.splits()) {
    splits += (splits.empty() ? "" : " ") + name + " " + joined({range.first, range.last});
  }
  file.metadata = {
      {"name", schema.name},
      {"task", std::string(std::ranges::find(kTasks, schema.task, &decltype(kTasks)::value_type::first)->second)},
      {"outputs", std::to_string(schema.outputs)},
      {"node_categories", joined(schema.node_categories)},
      {"edge_categories", joined(schema.edge_categories)},
      {"splits", splits},
      {"key", key}};
  save_made_file(path, file);
}

GraphSet load_graph_set(const std::filesystem::path& path) {
  auto file = load_safetensors(path);
  return naming_file(path, [&] { return set_of(file); });
}

std::optional<GraphSet> find_graph_set(const std::filesystem::path& path, const std::string& key) {
  auto file = find_made_file(path, key);
  if (!file) return std::nullopt;
  return naming_file(path, [&] { return set_of(*file); });
}

}  // namespace quest::data
