#pragma once

// Sums over segments of rows: the edges into a node, the nodes of a graph. On every device each sum runs in a fixed
// order, forward and backward, so that results have the same bits on every run and any number of threads.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quest/export.h"

namespace quest::nn {

// Which rows belong to which segment; all tensors hold integers.
struct Segments {
  at::Tensor offsets;  // [S + 1]: the rows of segment s are order[offsets[s]] .. order[offsets[s + 1] - 1]
  at::Tensor segment;  // [N], the segment of each row
  at::Tensor order;    // [N], rows by segment; undefined: they lie in that order

  [[nodiscard]] std::int64_t count() const { return offsets.size(0) - 1; }
  [[nodiscard]] std::int64_t rows() const { return segment.size(0); }
};

// Of rows that lie segment by segment.
[[nodiscard]] QUEST_API Segments segments_from_offsets(const at::Tensor& offsets, std::int64_t rows);
// Of rows in any order, each of which names its segment, 0 .. count - 1.
[[nodiscard]] QUEST_API Segments segments_from_numbers(const at::Tensor& segment, std::int64_t count);

// [N, …] -> [S, …]; an empty segment gives zeros.
[[nodiscard]] QUEST_API at::Tensor segment_sum(const at::Tensor& values, const Segments& segments);
[[nodiscard]] QUEST_API at::Tensor segment_mean(const at::Tensor& values, const Segments& segments);
// [S, …] -> [N, …]: to each row what its segment has.
[[nodiscard]] QUEST_API at::Tensor segment_rows(const at::Tensor& values, const Segments& segments);

}  // namespace quest::nn
