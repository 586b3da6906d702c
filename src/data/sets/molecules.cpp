#include "data/sets/molecules.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "data/formats/format_error.h"
#include "data/formats/molecule_lines.h"
#include "data/formats/packed_molecules.h"
#include "data/formats/whole_file.h"
#include "data/graph_packer.h"
#include "data/sets/locator.h"

namespace quest::data {
namespace {

constexpr MoleculeTypes kZincTypes = {.atoms = 28, .bonds = 4};
constexpr std::array<std::pair<const char*, std::string_view>, 3> kSplits = {
    {{"train", "train"}, {"validation", "val"}, {"test", "test"}}};  // ours and the files'

std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name) {
  if (auto path = find_file(folder, name)) return *path;
  throw FormatError("\"" + (folder / name).string() +
                    "\": expected this file, plain or packed as .xz or .gz, found none");
}

// Both directions of each bond.
class Edges {
 public:
  Edges(std::int64_t bonds, std::int64_t features)
      : source_(at::empty({2 * bonds}, at::kInt)),
        target_(at::empty({2 * bonds}, at::kInt)),
        ids_(at::empty({2 * bonds, features}, at::kInt)) {}

  template <typename Features>
  void set(std::int64_t bond, std::int32_t one, std::int32_t other, const Features& features) {
    for (const auto& [edge, from, to] : {std::tuple(2 * bond, one, other), std::tuple(2 * bond + 1, other, one)}) {
      source_.mutable_data_ptr<std::int32_t>()[edge] = from;
      target_.mutable_data_ptr<std::int32_t>()[edge] = to;
      auto* ids = ids_.mutable_data_ptr<std::int32_t>() + edge * ids_.size(1);
      for (const auto feature : features) *ids++ = feature;
    }
  }

  void give(Graph& graph) const {
    graph.source = source_;
    graph.target = target_;
    graph.edge_ids = ids_;
  }

 private:
  at::Tensor source_;
  at::Tensor target_;
  at::Tensor ids_;
};

Graph graph_of(const Molecule& molecule) {
  const auto atoms = static_cast<std::int64_t>(molecule.atoms.size());
  Graph graph{.nodes = atoms, .node_ids = at::empty({atoms, 1}, at::kInt)};
  std::ranges::copy(molecule.atoms, graph.node_ids.mutable_data_ptr<std::int32_t>());
  Edges edges(static_cast<std::int64_t>(molecule.bonds.size()), 1);
  for (std::size_t i = 0; i < molecule.bonds.size(); ++i) {
    const auto& bond = molecule.bonds[i];
    edges.set(static_cast<std::int64_t>(i), bond.one, bond.other, std::array{bond.type});
  }
  edges.give(graph);
  graph.labels = at::full({1}, molecule.target, at::kFloat);
  return graph;
}

Graph graph_of(const PackedMolecules& molecules, const PackedMolecules::Entry& entry) {
  const auto features = static_cast<std::int64_t>(molecules.node_kinds.empty() ? 0 : molecules.node_kinds[0].size());
  Graph graph{.nodes = entry.nodes, .node_ids = at::empty({entry.nodes, features}, at::kInt)};
  auto* ids = graph.node_ids.mutable_data_ptr<std::int32_t>();
  for (std::int64_t i = 0; i < entry.nodes; ++i) {
    const auto kind = molecules.node_kind[static_cast<std::size_t>(entry.first_node + i)];
    ids = std::ranges::copy(molecules.node_kinds[kind], ids).out;
  }
  Edges edges(entry.bonds,
              static_cast<std::int64_t>(molecules.bond_kinds.empty() ? 0 : molecules.bond_kinds[0].size()));
  for (std::int64_t i = 0; i < entry.bonds; ++i) {
    const auto bond = static_cast<std::size_t>(entry.first_bond + i);
    edges.set(i, molecules.bond_begin[bond], molecules.bond_end[bond], molecules.bond_kinds[molecules.bond_kind[bond]]);
  }
  edges.give(graph);
  graph.labels = at::empty({static_cast<std::int64_t>(entry.labels.size())}, at::kFloat);
  std::ranges::copy(entry.labels, graph.labels.mutable_data_ptr<float>());
  return graph;
}

}  // namespace

GraphSchema zinc_schema() {
  return {.name = "ZINC",
          .task = GraphTask::graph_targets,
          .node_categories = {kZincTypes.atoms},
          .edge_categories = {kZincTypes.bonds},
          .outputs = 1};
}

GraphSchema peptides_func_schema() {
  return {.name = "Peptides-func",
          .task = GraphTask::graph_targets,
          .node_categories = kAtomCategories,
          .edge_categories = kBondCategories,
          .outputs = 10};
}

GraphSet load_zinc_lines(const std::filesystem::path& folder) {
  GraphPacker packer(zinc_schema());
  for (const auto& [split, name] : kSplits) {
    const auto path = file_of(folder, std::string(name) + ".tsv");
    packer.begin_split(split);
    naming_file(path, [&] {
      for (const auto& molecule : parse_molecule_lines(read_whole_file(path), kZincTypes))
        packer.add(graph_of(molecule));
    });
  }
  return packer.finish();
}

GraphSet load_packed_peptides(const std::filesystem::path& folder) {
  const auto read = [&](const char* name) {
    const auto path = file_of(folder, name);
    return naming_file(path, [&] { return read_whole_file(path); });
  };
  const auto graphs = read("graphs.tsv");
  const auto node_types = read("node_types.tsv");
  const auto bond_types = read("bond_types.tsv");
  const auto node_type = read("node_type.u8");
  const auto bond_begin = read("bond_begin.u16");
  const auto bond_end = read("bond_end.u16");
  const auto bond_type = read("bond_type.u8");
  return naming_file(folder, [&] {
    const auto molecules = parse_packed_molecules({.graphs = graphs,
                                                   .node_types = node_types,
                                                   .bond_types = bond_types,
                                                   .node_type = node_type,
                                                   .bond_begin = bond_begin,
                                                   .bond_end = bond_end,
                                                   .bond_type = bond_type});
    for (const auto& entry : molecules.graphs) {
      if (std::ranges::find(kSplits, entry.split, [](const auto& split) { return split.second; }) == kSplits.end()) {
        throw FormatError("expected the splits train, val and test, found " + in_quotes(entry.split));
      }
    }
    GraphPacker packer(peptides_func_schema());
    for (const auto& [split, name] : kSplits) {
      packer.begin_split(split);
      for (const auto& entry : molecules.graphs) {
        if (entry.split == name) packer.add(graph_of(molecules, entry));
      }
    }
    return packer.finish();
  });
}

}  // namespace quest::data
