#pragma once

// Which kernel family serves a problem: a table made by measurement (docs/performance.md). Plain C++, no CUDA header,
// so that it can be asked and tested where there is no GPU.

#include <cstdint>
#include <string_view>

#include "kernels/attention_problem.h"

namespace quest::kernels::cuda {

// Of queries, keys and values.
inline constexpr std::int64_t kLargestDim = 256;

enum class Engine {
  short_sequence,  // a block owns a whole head in shared memory; Hopper, plain QUEST
  long_sequence,   // warp-specialised wgmma over tiles; Hopper, plain QUEST
  portable,        // mma.sync over tiles, every option, from Ampere on
};

struct EngineChoice {
  Engine engine = Engine::portable;
  std::string_view reason;
};

// For the forward and the backward, which round alike then. compute_capability is 10 · major + minor.
[[nodiscard]] EngineChoice choose_engine(const AttentionProblem& problem, int compute_capability);

[[nodiscard]] std::string_view name(Engine engine);

}  // namespace quest::kernels::cuda
