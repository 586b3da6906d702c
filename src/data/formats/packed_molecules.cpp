#include "data/formats/packed_molecules.h"

#include <limits>
#include <utility>

#include "data/formats/format_error.h"
#include "data/formats/text_fields.h"

namespace quest::data {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();

std::vector<std::vector<std::int32_t>> parse_kinds(std::string_view content) {
  std::vector<std::vector<std::int32_t>> kinds;
  bool is_heading = true;
  for_each_line(content, [&](std::string_view line) {
    if (std::exchange(is_heading, false)) return;
    const auto columns = fields_of(line, '\t');
    std::vector<std::int32_t> features;
    for (std::size_t i = 1; i < columns.size(); ++i) features.push_back(number_below(columns[i], kMost, "a feature"));
    if (number_below(columns[0], kMost, "a number") != static_cast<std::int32_t>(kinds.size()) || features.empty() ||
        (!kinds.empty() && features.size() != kinds[0].size())) {
      throw FormatError("expected kind " + std::to_string(kinds.size()) +
                        " with as many features as the others, found " + in_quotes(line));
    }
    kinds.push_back(std::move(features));
  });
  return kinds;
}

std::vector<PackedMolecules::Entry> parse_entries(std::string_view content) {
  constexpr std::size_t kColumns = 4;
  std::vector<PackedMolecules::Entry> entries;
  std::int64_t node = 0;
  std::int64_t bond = 0;
  for_each_line(content, [&](std::string_view line) {
    const auto columns = fields_of(line, '\t');
    if (columns.size() != kColumns) {
      throw FormatError("expected split, labels, atoms and bonds parted by tabs, found " +
                        std::to_string(columns.size()) + " columns; is the line cut off?");
    }
    PackedMolecules::Entry entry{.split = std::string(columns[0]), .first_node = node, .first_bond = bond};
    for (const char& letter : columns[1]) {
      entry.labels.push_back(static_cast<std::uint8_t>(number_below({&letter, 1}, 2, "a label")));
    }
    if (!entries.empty() && entry.labels.size() != entries[0].labels.size()) {
      throw FormatError("expected " + std::to_string(entries[0].labels.size()) +
                        " labels as in the lines before, found " + std::to_string(entry.labels.size()));
    }
    entry.nodes = number_below(columns[2], kMost, "a number of atoms");
    entry.bonds = number_below(columns[3], kMost, "a number of bonds");
    node += entry.nodes;
    bond += entry.bonds;
    entries.push_back(std::move(entry));
  });
  return entries;
}

template <typename Number>
std::vector<Number> parse_array(std::string_view bytes, std::int64_t count) {
  if (bytes.size() != static_cast<std::uint64_t>(count) * sizeof(Number)) {
    throw FormatError("expected " + std::to_string(count) + " numbers of " + std::to_string(sizeof(Number)) +
                      " bytes as graphs.tsv says, found " + std::to_string(bytes.size()) +
                      " bytes; is the file cut off?");
  }
  std::vector<Number> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = static_cast<unsigned char>(bytes[i]);
    numbers[i / sizeof(Number)] |= static_cast<Number>(byte << 8 * (i % sizeof(Number)));
  }
  return numbers;
}

void check_below(std::uint64_t number, std::uint64_t end, std::size_t graph, std::int64_t place, const char* what) {
  if (number < end) return;
  throw FormatError("graph " + std::to_string(graph) + ", place " + std::to_string(place) + ": expected " + what +
                    " from 0 to " + std::to_string(static_cast<std::int64_t>(end) - 1) + ", found " +
                    std::to_string(number));
}

template <typename Number>
void check_atoms(const std::vector<PackedMolecules::Entry>& graphs, const std::vector<Number>& atoms) {
  for (std::size_t graph = 0; graph < graphs.size(); ++graph) {
    const auto& entry = graphs[graph];
    for (std::int64_t i = 0; i < entry.bonds; ++i) {
      check_below(atoms[static_cast<std::size_t>(entry.first_bond + i)], static_cast<std::uint64_t>(entry.nodes), graph,
                  i, "an atom");
    }
  }
}

void check_kinds(const std::vector<std::uint8_t>& kinds, std::size_t count) {
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    if (kinds[i] < count) continue;
    throw FormatError("place " + std::to_string(i) + ": expected a kind from 0 to " +
                      std::to_string(static_cast<std::int64_t>(count) - 1) + ", found " + std::to_string(kinds[i]));
  }
}

}  // namespace

PackedMolecules parse_packed_molecules(const PackedMoleculeFiles& files) {
  PackedMolecules result;
  naming_file("graphs.tsv", [&] { result.graphs = parse_entries(files.graphs); });
  naming_file("node_types.tsv", [&] { result.node_kinds = parse_kinds(files.node_types); });
  naming_file("bond_types.tsv", [&] { result.bond_kinds = parse_kinds(files.bond_types); });
  std::int64_t nodes = 0;
  std::int64_t bonds = 0;
  for (const auto& entry : result.graphs) {
    nodes += entry.nodes;
    bonds += entry.bonds;
  }
  naming_file("node_type.u8", [&] {
    result.node_kind = parse_array<std::uint8_t>(files.node_type, nodes);
    check_kinds(result.node_kind, result.node_kinds.size());
  });
  naming_file("bond_type.u8", [&] {
    result.bond_kind = parse_array<std::uint8_t>(files.bond_type, bonds);
    check_kinds(result.bond_kind, result.bond_kinds.size());
  });
  naming_file("bond_begin.u16", [&] {
    result.bond_begin = parse_array<std::uint16_t>(files.bond_begin, bonds);
    check_atoms(result.graphs, result.bond_begin);
  });
  naming_file("bond_end.u16", [&] {
    result.bond_end = parse_array<std::uint16_t>(files.bond_end, bonds);
    check_atoms(result.graphs, result.bond_end);
  });
  return result;
}

}  // namespace quest::data
