#pragma once

// How a problem is cut into tasks and blocks. Depends on shapes alone, never on the number of threads:
// that is what makes every result the same to the last bit whoever computes it.

#include <algorithm>
#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/sequence.h"

namespace quest::kernels::cpu {

// So few scores of a head cost less as dot products of rows than the transposition that a matrix product needs. Every
// pass follows this rule, so that all of them see the same logits.
inline constexpr std::int64_t kFewScores = 36;
inline bool few_scores(const Sequence& s) { return s.queries * s.keys <= kFewScores; }

// Equal steps of at most `most`, each a multiple of `unit` but the last.
struct Steps {
  std::int64_t size = 0;
  std::int64_t count = 0;

  Steps(std::int64_t total, std::int64_t most, std::int64_t unit) {
    if (total <= 0) return;
    size = round_up(ceil_div(total, ceil_div(total, most)), unit);
    count = ceil_div(total, size);
  }
};

// Query rows are handled in blocks of this many; a multiple of every register tile's height.
inline constexpr std::int64_t kRowBlock = 12;

// A row block of probabilities should stay in the first-level cache and the keys and values it meets in the second.
inline constexpr std::int64_t kMostBlockKeys = 512;
inline constexpr std::int64_t kKeyBlockFloats = 128 * 1024;

inline Steps key_steps(std::int64_t keys, std::int64_t floats_per_key, std::int64_t unit) {
  const std::int64_t most =
      std::clamp<std::int64_t>(kKeyBlockFloats / std::max<std::int64_t>(floats_per_key, 1), unit, kMostBlockKeys);
  return {keys, round_up(most, unit), unit};
}

// Enough tasks for a large machine where the shape has them, few enough that packing the keys stays cheap.
inline constexpr std::int64_t kWantedTasks = 32;

inline Steps forward_row_steps(const AttentionProblem& p) {
  const std::int64_t heads = std::max<std::int64_t>(p.batch * p.heads, 1);
  const std::int64_t rows = heads * ceil_div(p.longest_queries, 256) >= kWantedTasks ? 256 : 96;
  return {p.longest_queries, rows, kRowBlock};
}

// The backward of one key head runs over the rows of all query heads it serves, cut into chunks that each own a
// partial dK and dV.
struct BackwardPlan {
  std::int64_t group = 1;  // query heads per key head
  std::int64_t chunks = 1;
  std::int64_t chunk_rows = 0;  // counted over group · longest_queries

  explicit BackwardPlan(const AttentionProblem& p) : group(p.heads / std::max<std::int64_t>(p.kv_heads, 1)) {
    const std::int64_t units = std::max<std::int64_t>(p.batch * p.kv_heads, 1);
    const std::int64_t rows = group * p.longest_queries;
    chunks = std::clamp<std::int64_t>(std::min(ceil_div(kWantedTasks, units), rows / 512), 1, kWantedTasks);
    chunk_rows = ceil_div(rows, chunks);
  }
};

}  // namespace quest::kernels::cpu
