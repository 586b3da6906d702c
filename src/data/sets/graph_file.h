#pragma once

// A set of graphs as one safetensors file: the tensors of GraphTensors by their names, and as metadata
//   name             of the data set
//   task             node_classes, graph_classes, graph_targets or pairs
//   outputs          classes or targets
//   node_categories  of each column of node_ids, parted by spaces; edge_categories likewise; may be absent
//   splits           "train 0 10000 validation 10000 11000 test 11000 12000": first graph, one after the last
//   key              what made the file, where a cache keeps it

#include <filesystem>
#include <optional>
#include <string>

#include "data/graph_set.h"

namespace quest::data {

// Whole or not at all, also where several processes write it at once.
void save_graph_set(const std::filesystem::path& path, const GraphSet& set, const std::string& key = "");

// Throws FormatError that names the file and what is wrong in it.
[[nodiscard]] GraphSet load_graph_set(const std::filesystem::path& path);

// From a cache: the set if the file is there and whole and has the key.
[[nodiscard]] std::optional<GraphSet> find_graph_set(const std::filesystem::path& path, const std::string& key);

}  // namespace quest::data
