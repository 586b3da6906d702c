#pragma once

// The nine sets of graphs that the paper uses: where they lie, how to get them, and each from whatever form of it is
// there. docs/graph-data.md has the layouts.

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "data/graph_parallel.h"
#include "data/graph_set.h"
#include "data/sets/data_set.h"
#include "data/sets/published_graphs.h"

namespace quest::data {

struct GraphSource {
  std::string name = "CLUSTER";  // one of kGraphBenchmarks
  std::string folder{};          // looked at first, and alone where it is named
  std::uint64_t seed = 0;        // of what is generated
  // Graphs of each split of PATTERN and CLUSTER where they are generated; 0: as many as published.
  std::int64_t train = 0;
  std::int64_t evaluated = 0;
};

// A file or folder that holds it. PATTERN and CLUSTER need none.
[[nodiscard]] std::optional<std::filesystem::path> find_graphs(const GraphSource& source);

// What is wanted, where it was looked for, and how to get it; empty where the set is there or is generated.
[[nodiscard]] std::string missing_graphs_text(const GraphSource& source);

// Throws std::invalid_argument for a name that is none of kGraphBenchmarks, std::runtime_error with that text, and
// FormatError for files that are not as they should be. What takes long to read or to make is kept in the user's cache.
[[nodiscard]] GraphSet load_graphs(const GraphSource& source, const Progress& progress = {});

[[nodiscard]] std::vector<DataSet> graph_benchmark_sets();

}  // namespace quest::data
