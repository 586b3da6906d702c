#pragma once

// The result of `quest bench attention` as text, Markdown and JSON.

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/attention_shape.h"
#include "terminal/table.h"

namespace quest::bench {

// Infinite where the backend does not serve the shape.
struct BackendTimes {
  std::string name;
  double standard_ms = 0.0;
  double quest_ms = 0.0;
};

struct BenchRow {
  AttentionShape shape;
  Pass pass = Pass::forward;
  double ours_ms = 0.0;
  double torch_standard_ms = 0.0;  // of the fastest backend
  double torch_quest_ms = 0.0;
  double relative_spread = 0.0;                                        // the widest of all contestants
  std::vector<BackendTimes> backends{};                                // torch's, on a GPU
  double compiled_quest_ms = std::numeric_limits<double>::infinity();  // torch's under torch.compile, where measured
};

// What a card reaches at best; 0 where that is not known.
struct Ceilings {
  double flops_per_second = 0.0;
  double bytes_per_second = 0.0;
};

// Measured ceilings of the cards this was measured on.
[[nodiscard]] Ceilings ceilings_of(std::string_view gpu_name);

// One line per row: milliseconds, GFLOP/s and ratios; then the geometric means of the ratios per pass. "std" is torch's
// standard attention. A ratio above 1 means that ours is faster.
[[nodiscard]] std::string bench_table(std::span<const BenchRow> rows, terminal::TableStyle style);

// The same for a GPU: two columns per backend of torch, one for torch.compile, achieved TFLOP/s and TB/s (least bytes
// over time), and the floor, which is the longer of least bytes and operations at the card's ceilings.
[[nodiscard]] std::string gpu_bench_table(std::span<const BenchRow> rows, double element_bytes,
                                          const Ceilings& ceilings, terminal::TableStyle style);

// An array of objects with the keys shape, pass, ours_ms, torch_standard_ms, torch_quest_ms, and on a GPU also
// torch_standard_flash_ms and so on for each backend that serves the shape, and torch_quest_compiled_ms.
[[nodiscard]] std::string bench_json(std::span<const BenchRow> rows);

// Empty, or a sentence that says which rows were disturbed by other work on the machine.
[[nodiscard]] std::string noise_warning(std::span<const BenchRow> rows);

}  // namespace quest::bench
