#pragma once

// Sets of molecules from text and flat arrays: docs/graph-data.md has the layouts.

#include <filesystem>

#include "data/graph_set.h"

namespace quest::data {

// Of each column of the features of atoms and bonds that OGB's molecules have.
inline const std::vector<std::int64_t> kAtomCategories = {119, 4, 12, 12, 10, 6, 6, 2, 2};
inline const std::vector<std::int64_t> kBondCategories = {5, 6, 2};

[[nodiscard]] GraphSchema zinc_schema();
[[nodiscard]] GraphSchema peptides_func_schema();

// train.tsv, val.tsv and test.tsv of a folder, packed or not. Throws FormatError that names file and line.
[[nodiscard]] GraphSet load_zinc_lines(const std::filesystem::path& folder);

// The seven files that formats/packed_molecules.h describes.
[[nodiscard]] GraphSet load_packed_peptides(const std::filesystem::path& folder);

}  // namespace quest::data
