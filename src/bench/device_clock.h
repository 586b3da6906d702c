#pragma once

// Timing on a GPU: work is captured into a CUDA graph once and replayed between events, so that a time is the card's
// and not that of launching from the host.

#include <functional>
#include <string>

#include "bench/measure.h"

namespace quest::bench {

// Throws UsageError where there is no GPU or this program was built without CUDA.
void require_gpu();

// Name, compute capability and CUDA version, for the line above a table.
[[nodiscard]] std::string gpu_text();

// 10 · major + minor of the GPU; 0 where there is none.
[[nodiscard]] int compute_capability();

// Captures work(), which holds `runs` runs; the contestant replays it and returns the seconds of one run.
[[nodiscard]] Contestant replay(const std::function<void()>& work, int runs);

}  // namespace quest::bench
