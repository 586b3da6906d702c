#pragma once

// How blocks that own tiles of rows find them.

#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {

// Slots for the row tiles of one head. Where lengths are known to the device only, sequence s takes the slots from
// cu_seqlens[s] / tile + s on, which are never fewer than its tiles.
constexpr std::int64_t tile_slots(bool packed, std::int64_t batch, std::int64_t rows, int tile) {
  return packed ? rows / tile + batch : ceil_div(rows, tile);
}

// The first slot of a packed sequence, of those of one head.
constexpr std::int64_t first_slot(std::int64_t first_row, std::int64_t sequence, int tile) {
  return first_row / tile + sequence;
}

enum class Longest { first, last };  // which tiles of a head have the most to do

// Which of `blocks` the block started as number `started` is: where blocks differ in work, those with the most come
// first. Heads follow each other in groups of some blocks: enough that the last group leaves no processor without work,
// and few, so that what its heads read and add to stays in the cache.
constexpr unsigned block_in_order(const AttentionProblem& p, const std::int64_t* cu_seqlens, std::int64_t rows,
                                  int tile_rows, Longest longest, unsigned started, unsigned blocks) {
  if (p.causal == Causal::none) return started;
  constexpr unsigned kBlocksTogether = 512;
  const auto slots = static_cast<unsigned>(tile_slots(cu_seqlens != nullptr, p.batch, rows, tile_rows));
  const unsigned heads_together = (kBlocksTogether + slots - 1) / slots;
  const unsigned first_head = started / (heads_together * slots) * heads_together;
  const unsigned heads_left = blocks / slots - first_head;
  const unsigned heads = heads_together < heads_left ? heads_together : heads_left;
  const unsigned place = started - first_head * slots;
  const unsigned slot = place / heads;
  return (first_head + place % heads) * slots + (longest == Longest::last ? slots - 1 - slot : slot);
}

struct Place {
  std::int64_t sequence = 0;
  int head = 0;
  int tile = 0;

  // Of block `block` among batch · heads · slots of them (heads · slots when packed).
  constexpr Place(const AttentionProblem& p, const std::int64_t* cu_seqlens, std::int64_t rows, std::int64_t heads,
                  int tile_rows, unsigned block) {
    const auto slots = static_cast<unsigned>(tile_slots(cu_seqlens != nullptr, p.batch, rows, tile_rows));
    tile = static_cast<int>(block % slots);
    head = static_cast<int>(block / slots % static_cast<unsigned>(heads));
    sequence = block / slots / static_cast<unsigned>(heads);
    if (cu_seqlens == nullptr) return;
    std::int64_t end = p.batch;
    while (end - sequence > 1) {
      const std::int64_t middle = (sequence + end) / 2;
      (first_slot(cu_seqlens[middle], middle, tile_rows) <= tile ? sequence : end) = middle;
    }
    tile -= static_cast<int>(first_slot(cu_seqlens[sequence], sequence, tile_rows));
  }
};

inline std::int64_t block_count(const AttentionProblem& p, std::int64_t rows, std::int64_t heads, int tile_rows) {
  const bool packed = p.cu_seqlens_q != nullptr;
  return (packed ? 1 : p.batch) * heads * tile_slots(packed, p.batch, rows, tile_rows);
}

}  // namespace quest::kernels::cuda
