#pragma once

// Molecules as lines of text. Needs no torch.
//   -0.5 TAB CCO TAB 0,0,1 TAB 0-1:1 1-2:1       target, SMILES, atom types, bonds "atom-atom:type", each once

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

struct Molecule {
  struct Bond {
    std::int32_t one = 0;
    std::int32_t other = 0;
    std::int32_t type = 0;
  };

  double target = 0.0;
  std::vector<std::int32_t> atoms;
  std::vector<Bond> bonds;  // between atoms of the molecule
};

struct MoleculeTypes {
  std::int32_t atoms = 0;  // types are below
  std::int32_t bonds = 0;
};

// Throws FormatError with the number of the line.
[[nodiscard]] std::vector<Molecule> parse_molecule_lines(std::string_view content, const MoleculeTypes& types);

}  // namespace quest::data
