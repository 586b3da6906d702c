#include <array>

#include "data/formats/packed_molecules.h"
#include "tests/fuzz/target.h"

// The seven files in one, parted by "====".
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    std::array<std::string_view, 7> files;
    for (auto& file : files) {
      const auto end = content.find("====");
      file = content.substr(0, end);
      content.remove_prefix(end == std::string_view::npos ? content.size() : end + 4);
    }
    const auto molecules = quest::data::parse_packed_molecules({.graphs = files[0],
                                                                .node_types = files[1],
                                                                .bond_types = files[2],
                                                                .node_type = files[3],
                                                                .bond_begin = files[4],
                                                                .bond_end = files[5],
                                                                .bond_type = files[6]});
    for (const auto& entry : molecules.graphs) {
      for (std::int64_t i = 0; i < entry.nodes; ++i) {
        quest::fuzz::promise(molecules.node_kind.at(static_cast<std::size_t>(entry.first_node + i)) <
                             molecules.node_kinds.size());
      }
      for (auto bond = static_cast<std::size_t>(entry.first_bond);
           bond < static_cast<std::size_t>(entry.first_bond + entry.bonds); ++bond) {
        quest::fuzz::promise(molecules.bond_kind.at(bond) < molecules.bond_kinds.size());
        quest::fuzz::promise(molecules.bond_begin.at(bond) < entry.nodes && molecules.bond_end.at(bond) < entry.nodes);
      }
    }
  });
}
