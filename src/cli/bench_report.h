#pragma once

// The result of `quest bench attention` as text, Markdown and JSON.

#include <span>
#include <string>

#include "cli/attention_shape.h"
#include "cli/table.h"

namespace quest::cli {

struct BenchRow {
  AttentionShape shape;
  Pass pass = Pass::forward;
  double ours_ms = 0.0;
  double torch_standard_ms = 0.0;
  double torch_quest_ms = 0.0;
  double relative_spread = 0.0;  // the widest of the three
};

// One line per row: milliseconds, GFLOP/s and ratios; then the geometric means of the ratios per pass. "std" is torch's
// standard attention. A ratio above 1 means that ours is faster.
[[nodiscard]] std::string bench_table(std::span<const BenchRow> rows, TableStyle style);

// An array of objects with the keys shape, pass, ours_ms, torch_standard_ms, torch_quest_ms.
[[nodiscard]] std::string bench_json(std::span<const BenchRow> rows);

// Empty, or a sentence that says which rows were disturbed by other work on the machine.
[[nodiscard]] std::string noise_warning(std::span<const BenchRow> rows);

}  // namespace quest::cli
