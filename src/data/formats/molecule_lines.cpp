#include "data/formats/molecule_lines.h"

#include <string>

#include "data/formats/format_error.h"
#include "data/formats/text_fields.h"

namespace quest::data {
namespace {

Molecule parse_molecule(std::string_view line, const MoleculeTypes& types) {
  const auto columns = fields_of(line, '\t');
  constexpr std::size_t kColumns = 4;
  if (columns.size() != kColumns) {
    throw FormatError("expected target, SMILES, atoms and bonds parted by tabs, found " +
                      std::to_string(columns.size()) + " columns; is the line cut off?");
  }
  Molecule molecule{.target = finite_number(columns[0], "a target")};
  for (const auto atom : fields_of(columns[2], ',')) {
    molecule.atoms.push_back(number_below(atom, types.atoms, "an atom type"));
  }
  const auto atoms = static_cast<std::int32_t>(molecule.atoms.size());
  for (auto bond : fields_of(columns[3], ' ')) {
    const auto dash = bond.find('-');
    const auto colon = bond.find(':');
    if (dash == std::string_view::npos || colon == std::string_view::npos || colon < dash) {
      throw FormatError("expected a bond as atom-atom:type, found " + in_quotes(bond));
    }
    molecule.bonds.push_back(
        {.one = number_below(bond.substr(0, dash), atoms, "an atom of a bond"),
         .other = number_below(bond.substr(dash + 1, colon - dash - 1), atoms, "an atom of a bond"),
         .type = number_below(bond.substr(colon + 1), types.bonds, "a bond type")});
  }
  return molecule;
}

}  // namespace

std::vector<Molecule> parse_molecule_lines(std::string_view content, const MoleculeTypes& types) {
  std::vector<Molecule> molecules;
  for_each_line(content, [&](std::string_view line) { molecules.push_back(parse_molecule(line, types)); });
  return molecules;
}

}  // namespace quest::data
