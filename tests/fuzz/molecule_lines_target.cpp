#include <cmath>

#include "data/formats/molecule_lines.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    for (const auto& molecule : quest::data::parse_molecule_lines(content, {.atoms = 28, .bonds = 4})) {
      quest::fuzz::promise(std::isfinite(molecule.target));
      const auto atoms = static_cast<std::int32_t>(molecule.atoms.size());
      for (const auto atom : molecule.atoms) quest::fuzz::promise(atom >= 0 && atom < 28);
      for (const auto& bond : molecule.bonds) {
        quest::fuzz::promise(bond.one >= 0 && bond.one < atoms && bond.other >= 0 && bond.other < atoms);
        quest::fuzz::promise(bond.type >= 0 && bond.type < 4);
      }
    }
  });
}
