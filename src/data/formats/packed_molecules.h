#pragma once

// Molecules in flat arrays, with tables of the kinds of atoms and bonds that occur. Needs no torch.
//   graphs.tsv       one line a molecule: split TAB labels as 0 and 1 TAB atoms TAB bonds
//   node_types.tsv   a heading; then number TAB feature TAB feature …, one line a kind; bond_types.tsv the same
//   node_type.u8     the kind of every atom of every molecule;   bond_type.u8 of every bond, which stands once
//   bond_begin.u16, bond_end.u16   its atoms, numbered inside the molecule

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace quest::data {

struct PackedMoleculeFiles {
  std::string_view graphs;
  std::string_view node_types;
  std::string_view bond_types;
  std::string_view node_type;
  std::string_view bond_begin;
  std::string_view bond_end;
  std::string_view bond_type;
};

struct PackedMolecules {
  struct Entry {
    std::string split;
    std::vector<std::uint8_t> labels;
    std::int64_t first_node = 0;
    std::int64_t nodes = 0;
    std::int64_t first_bond = 0;
    std::int64_t bonds = 0;
  };

  std::vector<Entry> graphs;
  std::vector<std::vector<std::int32_t>> node_kinds;  // the features of each
  std::vector<std::vector<std::int32_t>> bond_kinds;
  std::vector<std::uint8_t> node_kind;
  std::vector<std::uint8_t> bond_kind;
  std::vector<std::uint16_t> bond_begin;
  std::vector<std::uint16_t> bond_end;
};

// Every number is within what it refers to. Throws FormatError that names the file and the place in it.
[[nodiscard]] PackedMolecules parse_packed_molecules(const PackedMoleculeFiles& files);

}  // namespace quest::data
