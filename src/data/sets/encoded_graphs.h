#pragma once

// Sets of graphs with their positional encodings, which are computed once and kept in the user's cache.

#include <cstdint>

#include "data/encodings/graph_encodings.h"
#include "data/graph_set.h"

namespace quest::data {

struct EncodingOptions {
  std::int64_t laplacian_terms = 0;  // 0: none
  std::int64_t walk_steps = 0;
};

// The file of the cache is named after the set, its edges and the encoding: other graphs never get it.
[[nodiscard]] GraphSet with_cached_encodings(const GraphSet& set, const EncodingOptions& options,
                                             const Progress& progress = {});

}  // namespace quest::data
