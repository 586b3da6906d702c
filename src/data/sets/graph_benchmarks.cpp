#include "data/sets/graph_benchmarks.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <stdexcept>

#include "data/sets/block_model.h"
#include "data/sets/graph_file.h"
#include "data/sets/locator.h"
#include "data/sets/made_file.h"
#include "data/sets/molecules.h"
#include "data/sets/superpixels.h"

namespace quest::data {
namespace {

using Paths = std::vector<std::filesystem::path>;

struct Facts {
  const char* summary;
  const char* licence;
  const char* size;
  const char* how_to_get;
  std::vector<std::string> folders;  // besides those named after the set
};

constexpr const char* kLongRange =
    "PyTorch Geometric's LRGBDataset fetches it: put its folder raw/ or processed/ in "
    "$QUEST_DATA/NAME";

const Facts& facts_of(std::string_view name) {
  static const std::vector<std::pair<std::string_view, Facts>> all = {
      {"ZINC",
       {"12000 molecules: a penalised solubility",
        "free to use",
        "20 MB",
        "PyTorch Geometric's ZINC fetches it: put its folder raw/, or processed/ with subset=True, in $QUEST_DATA/ZINC",
        {"zinc12k", "ZINC/subset", "zinc/subset"}}},
      {"CIFAR10",
       {"60000 graphs of superpixels: what the picture shows",
        "none stated",
        "170 MB of pictures",
        "unpack cs.toronto.edu/~kriz/cifar-10-binary.tar.gz in $QUEST_DATA; the program makes the superpixels",
        {"cifar-10-batches-bin", "cifar10_jpeg"}}},
      {"PATTERN",
       {"14000 graphs of five communities: who belongs to a planted pattern",
        "generated",
        "95 MB",
        "the program generates it",
        {}}},
      {"CLUSTER",
       {"12000 graphs of six communities: who belongs to which", "generated", "66 MB", "the program generates it", {}}},
      {"PascalVOC-SP",
       {"11355 graphs of superpixels: which object each is part of",
        "custom (Pascal VOC 2011)",
        "1.2 GB",
        kLongRange,
        {}}},
      {"COCO-SP", {"123286 graphs of superpixels: which object each is part of", "CC BY 4.0", "13 GB", kLongRange, {}}},
      {"PCQM-Contact",
       {"529434 molecules: which distant atoms touch", "CC BY 4.0", "1.5 GB", kLongRange, {"pcqm-contact"}}},
      {"Peptides-func",
       {"15535 peptides: ten functions",
        "CC BY-NC 4.0",
        "300 MB",
        kLongRange,
        {"peptides_func", "peptides-functional"}}},
      {"Peptides-struct",
       {"15535 peptides: eleven properties of their structure",
        "CC BY-NC 4.0",
        "300 MB",
        kLongRange,
        {"peptides_struct", "peptides-structural"}}},
  };
  static_cast<void>(benchmark_schema(name));  // refuses other names
  return std::ranges::find(all, name, [](const auto& entry) { return entry.first; })->second;
}

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Paths places_of(const GraphSource& source) {
  auto inside = facts_of(source.name).folders;
  inside.push_back(source.name);
  inside.push_back(lower_case(source.name));
  if (!source.folder.empty()) return places_in(source.folder, inside);
  // Files of several sets have the same names: a folder that all share tells nothing.
  auto places = shared_places(inside);
  std::erase_if(places, [&](const std::filesystem::path& place) {
    return std::ranges::none_of(inside, [&](const std::string& name) { return place.string().ends_with("/" + name); });
  });
  return places;
}

// A form of the set that is there: where, and how it is read.
struct Found {
  std::filesystem::path path;
  std::function<GraphSet(const Progress&)> load;
};

GraphSet converted(std::string_view name, const PublishedFiles& files) {
  Paths read(files.splits.begin(), files.splits.end());
  for (auto file : files.splits) {  // which graphs of the file count
    if (std::filesystem::exists(file.replace_extension(".index"))) read.push_back(file);
  }
  const std::string key = "published graphs 1 of " + identity_of(read);
  const auto path = made_file("converted", std::string(name), key);
  if (auto set = find_graph_set(path, key)) return std::move(*set);
  auto set = load_published_graphs(name, files);
  save_graph_set(path, set, key);
  return set;
}

SetFiles files_of(const std::string& name, std::vector<std::string> files) {
  return {.name = name, .files = std::move(files)};
}

std::optional<Found> find_form(const GraphSource& source) {
  const auto places = places_of(source);
  if (const auto files = find_published_graphs(source.name, places)) {
    return Found{files->splits[0].parent_path(), [=](const Progress&) { return converted(source.name, *files); }};
  }
  if (const auto file = find_set(files_of(source.name, {source.name + ".safetensors"}), places)) {
    return Found{file->front(), [=](const Progress&) { return load_graph_set(file->front()); }};
  }
  if (source.name == "ZINC") {
    const auto files = find_set(files_of("ZINC", {"train.tsv", "val.tsv", "test.tsv"}), places);
    if (!files) return std::nullopt;
    const auto folder = files->front().parent_path();
    return Found{folder, [=](const Progress&) { return load_zinc_lines(folder); }};
  }
  if (source.name == "Peptides-func") {
    const auto files = find_set(files_of(source.name, {"graphs.tsv", "node_type.u8", "bond_type.u8"}), places);
    if (!files) return std::nullopt;
    const auto folder = files->front().parent_path();
    return Found{folder, [=](const Progress&) { return load_packed_peptides(folder); }};
  }
  if (source.name == "CIFAR10") {
    const auto files = find_cifar10(places);
    if (!files) return std::nullopt;
    return Found{files->front().parent_path(),
                 [=](const Progress& progress) { return load_superpixels(*files, progress); }};
  }
  return std::nullopt;
}

std::optional<BlockModel> block_model_of(std::string_view name) {
  const auto* const found = std::ranges::find(kBlockModels, name);
  if (found == kBlockModels.end()) return std::nullopt;
  return static_cast<BlockModel>(found - kBlockModels.begin());
}

BlockModelSize size_of(BlockModel model, const GraphSource& source) {
  auto size = published_size(model);
  if (source.train > 0) size.train = source.train;
  if (source.evaluated > 0) size.validation = size.test = source.evaluated;
  return size;
}

}  // namespace

std::optional<std::filesystem::path> find_graphs(const GraphSource& source) {
  const auto form = find_form(source);
  if (!form) return std::nullopt;
  return form->path;
}

std::string missing_graphs_text(const GraphSource& source) {
  if (block_model_of(source.name) || find_form(source)) return "";
  auto text = "the data set " + source.name + " was not found in one of its forms (docs/graph-data.md) in any of:";
  for (const auto& place : places_of(source)) text += "\n  " + std::filesystem::absolute(place).string();
  return text + "\nTo get it: " + facts_of(source.name).how_to_get;
}

GraphSet load_graphs(const GraphSource& source, const Progress& progress) {
  if (const auto form = find_form(source)) return form->load(progress);
  if (const auto model = block_model_of(source.name)) {
    return load_block_model(*model, size_of(*model, source), source.seed, progress);
  }
  throw std::runtime_error(missing_graphs_text(source));
}

std::vector<DataSet> graph_benchmark_sets() {
  std::vector<DataSet> sets;
  for (const auto& own : kGraphBenchmarks) {
    const std::string name(own);
    const auto& facts = facts_of(name);
    sets.push_back({.name = name,
                    .summary = facts.summary,
                    .licence = facts.licence,
                    .size = facts.size,
                    .how_to_get = facts.how_to_get,
                    .find = [name] { return find_graphs({.name = name}); }});
  }
  return sets;
}

}  // namespace quest::data
