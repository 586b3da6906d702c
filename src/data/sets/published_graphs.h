#pragma once

// Sets of graphs in the files that are downloaded: Python pickles, torch.save's files, and what PyTorch Geometric makes
// of them. Nothing in a file is executed. docs/graph-data.md has the layouts.

#include <array>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "data/graph_set.h"

namespace quest::data {

inline constexpr std::array<std::string_view, 9> kGraphBenchmarks = {
    "ZINC",    "CIFAR10",      "PATTERN",       "CLUSTER",        "PascalVOC-SP",
    "COCO-SP", "PCQM-Contact", "Peptides-func", "Peptides-struct"};

// Throws std::invalid_argument for a name that is none of them, which it lists.
[[nodiscard]] GraphSchema benchmark_schema(std::string_view name);

// A file of each split: train, val and test, as .pt or .pickle, NAME_train.pt or train_data.pt, in the folders raw/ and
// processed/ too.
struct PublishedFiles {
  std::array<std::filesystem::path, 3> splits;
};

[[nodiscard]] std::optional<PublishedFiles> find_published_graphs(std::string_view name,
                                                                  std::span<const std::filesystem::path> places);

// Throws FormatError that names the file, the graph and what is wrong with it.
[[nodiscard]] GraphSet load_published_graphs(std::string_view name, const PublishedFiles& files);

}  // namespace quest::data
