#include "data/sets/published_graphs.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <stdexcept>

#include "data/formats/format_error.h"
#include "data/formats/text_fields.h"
#include "data/formats/whole_file.h"
#include "data/graph_packer.h"
#include "data/sets/locator.h"
#include "data/sets/molecules.h"
#include "data/sets/published_file.h"
#include "data/sets/superpixels.h"

namespace quest::data {
namespace {

constexpr std::array<std::pair<const char*, const char*>, 3> kSplits = {
    {{"train", "train"}, {"validation", "val"}, {"test", "test"}}};  // ours and the files'

struct Benchmark {
  GraphSchema schema;
  std::vector<std::string> tuple_fields;
};

const std::vector<std::string> kLrgbFields = {"x", "edge_attr", "edge_index", "y"};
const std::vector<std::string> kContactFields = {"x", "edge_attr", "edge_index", "edge_label_index", "edge_label"};

GraphSchema superpixels_of(std::string_view name, std::int64_t classes) {
  return {.name = std::string(name), .task = GraphTask::node_classes, .outputs = classes};
}

Benchmark benchmark(std::string_view name) {
  if (name == "ZINC") return {zinc_schema(), {}};
  if (name == "CIFAR10") return {superpixel_schema(), {}};
  if (name == "PATTERN") {
    return {{.name = "PATTERN", .task = GraphTask::node_classes, .node_categories = {3}, .outputs = 2}, {}};
  }
  if (name == "CLUSTER") {
    return {{.name = "CLUSTER", .task = GraphTask::node_classes, .node_categories = {7}, .outputs = 6}, {}};
  }
  if (name == "PascalVOC-SP") return {superpixels_of(name, 21), kLrgbFields};
  if (name == "COCO-SP") return {superpixels_of(name, 81), kLrgbFields};
  auto molecules = peptides_func_schema();
  molecules.name = name;
  if (name == "Peptides-func") return {molecules, kLrgbFields};
  if (name == "Peptides-struct") {
    molecules.outputs = 11;
    return {molecules, kLrgbFields};
  }
  if (name == "PCQM-Contact") {
    molecules.task = GraphTask::pairs;
    molecules.outputs = 1;
    return {molecules, kContactFields};
  }
  std::string known;
  for (const auto& own : kGraphBenchmarks) known.append(known.empty() ? "" : ", ").append(own);
  throw std::invalid_argument("expected one of the data sets " + known + ", got " + std::string(name));
}

const at::Tensor& field(const TensorFields& fields, std::string_view name) {
  const auto found = fields.find(name);
  if (found != fields.end()) return found->second;
  std::string known;
  for (const auto& [own, tensor] : fields) known += (known.empty() ? "" : ", ") + own;
  throw FormatError("expected the tensor " + in_quotes(name) + ", found " + (known.empty() ? "none" : known));
}

at::Tensor rows_of(const at::Tensor& tensor) { return tensor.dim() == 1 ? tensor.unsqueeze(1) : tensor; }

void set_ends(const at::Tensor& ends, std::string_view name, at::Tensor& source, at::Tensor& target) {
  if (ends.dim() != 2 || ends.size(0) != 2) {
    throw FormatError("expected " + in_quotes(name) + " with a row of sources and one of targets, found another shape");
  }
  source = ends.select(0, 0);
  target = ends.select(0, 1);
}

// The published form of ZINC: types of atoms, and a matrix of types of bonds.
Graph graph_of_matrix(const TensorFields& fields) {
  const auto& atoms = field(fields, "atom_type");
  const auto& bonds = field(fields, "bond_type");
  if (bonds.dim() != 2 || atoms.dim() != 1 || bonds.size(0) != atoms.size(0) || bonds.size(1) != atoms.size(0)) {
    throw FormatError("expected a bond type for each two of the atoms, found another shape");
  }
  const auto edges = bonds.nonzero();
  return {.nodes = atoms.size(0),
          .source = edges.select(1, 0),
          .target = edges.select(1, 1),
          .node_ids = atoms.unsqueeze(1),
          .edge_ids = bonds.masked_select(bonds.ne(0)).unsqueeze(1),
          .labels = field(fields, "logP_SA_cycle_normalized")};
}

void set_features(Graph& graph, const TensorFields& fields, const GraphSchema& schema) {
  auto x = rows_of(field(fields, "x"));
  graph.nodes = x.size(0);
  if (schema.node_categories.empty()) {
    // Places of superpixels stand apart in some files.
    if (const auto places = fields.find("pos"); schema.name == "CIFAR10" && places != fields.end()) {
      x = at::cat({x, places->second.to(x.scalar_type())}, 1);
    }
    graph.node_values = x;
  } else {
    const bool is_one_hot =
        schema.node_categories.size() == 1 && x.size(1) == schema.node_categories[0] && x.size(1) > 1;
    graph.node_ids = is_one_hot ? x.argmax(1, /*keepdim=*/true) : x;
  }
  if (const bool has_edges = schema.name != "PATTERN" && schema.name != "CLUSTER"; has_edges) {
    (schema.edge_categories.empty() ? graph.edge_values : graph.edge_ids) = rows_of(field(fields, "edge_attr"));
  }
}

Graph graph_of(const TensorFields& fields, const GraphSchema& schema) {
  if (fields.contains("bond_type")) return graph_of_matrix(fields);
  Graph graph;
  set_features(graph, fields, schema);
  set_ends(field(fields, "edge_index"), "edge_index", graph.source, graph.target);
  if (schema.task == GraphTask::pairs) {
    set_ends(field(fields, "edge_label_index"), "edge_label_index", graph.pair_source, graph.pair_target);
    graph.pair_label = field(fields, "edge_label").flatten();
    return graph;
  }
  const auto& y = field(fields, "y");
  graph.labels = schema.task == GraphTask::graph_classes ? y.reshape({-1}).narrow(0, 0, 1) : y.flatten();
  return graph;
}

// COCO numbers its 80 things with gaps; the benchmark numbers what is left, 0 being none of them.
at::Tensor without_gaps(const at::Tensor& labels) {
  constexpr std::array<std::int64_t, 10> kGaps = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83};
  auto result = labels.clone();
  for (const auto gap : kGaps) result -= labels.gt(gap).to(labels.scalar_type());
  return result;
}

// Over the whole data set, as the benchmark has its targets; what is that already stays what it is.
at::Tensor standardized(const at::Tensor& targets) {
  const auto exact = targets.to(at::kDouble);
  return ((exact - exact.mean(0)) / exact.std(0)).to(targets.scalar_type());
}

// Which graphs of a file belong to the benchmark: those a file beside it lists, or all.
std::optional<std::vector<std::int64_t>> chosen_of(const std::filesystem::path& file) {
  auto path = file;
  path.replace_extension(".index");
  if (!std::filesystem::exists(path)) return std::nullopt;
  return naming_file(path, [&] {
    std::vector<std::int64_t> chosen;
    const auto text = read_whole_file(path);
    for_each_line(text, [&](std::string_view line) {
      for (const auto number : fields_of(line, ',')) {
        if (!number.empty()) chosen.push_back(number_below(number, std::int64_t{1} << 31, "the number of a graph"));
      }
    });
    return chosen;
  });
}

void add_file(GraphPacker& packer, const std::filesystem::path& path, const Benchmark& set) {
  const auto chosen = set.schema.name == "ZINC" ? chosen_of(path) : std::nullopt;
  std::vector<Graph> all;
  read_published_file(path, set.tuple_fields, [&](const TensorFields& fields, bool is_collated) {
    auto graph = graph_of(fields, set.schema);
    if (set.schema.name == "COCO-SP" && !is_collated) graph.labels = without_gaps(graph.labels);
    if (!chosen) return packer.add(graph);
    all.push_back(std::move(graph));
  });
  if (!chosen) return;
  for (const auto number : *chosen) {
    if (number >= std::ssize(all)) {
      throw FormatError("the file has " + std::to_string(all.size()) + " graphs, and its .index asks for graph " +
                        std::to_string(number));
    }
    packer.add(all[static_cast<std::size_t>(number)]);
  }
}

}  // namespace

GraphSchema benchmark_schema(std::string_view name) { return benchmark(name).schema; }

std::optional<PublishedFiles> find_published_graphs(std::string_view name,
                                                    std::span<const std::filesystem::path> places) {
  const std::array<std::pair<std::string, std::string>, 4> around = {
      {{"", ".pt"}, {"", ".pickle"}, {std::string(name) + "_", ".pt"}, {"", "_data.pt"}}};
  for (const auto& place : places) {
    for (const auto* folder : {"", "raw", "processed"}) {
      for (const auto& [before, after] : around) {
        PublishedFiles files;
        for (std::size_t i = 0; i < kSplits.size(); ++i) {
          files.splits[i] = place / folder / (before + kSplits[i].second + after);
        }
        std::error_code ignored;
        const auto exists = [&](const auto& file) { return std::filesystem::is_regular_file(file, ignored); };
        if (std::ranges::all_of(files.splits, exists)) return files;
      }
    }
  }
  return std::nullopt;
}

GraphSet load_published_graphs(std::string_view name, const PublishedFiles& files) {
  const auto set = benchmark(name);
  GraphPacker packer(set.schema);
  for (std::size_t i = 0; i < kSplits.size(); ++i) {
    packer.begin_split(kSplits[i].first);
    naming_file(files.splits[i], [&] { add_file(packer, files.splits[i], set); });
  }
  auto graphs = packer.finish();
  if (name != "Peptides-struct") return graphs;
  auto tensors = graphs.tensors();
  tensors.labels = standardized(tensors.labels);
  return {graphs.schema(), graphs.splits(), std::move(tensors)};
}

}  // namespace quest::data
