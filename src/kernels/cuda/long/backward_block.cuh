#pragma once

// What the warpgroups of a backward block share: its keys, the tiles of queries it visits, its shared memory.

#include <cstddef>

#include "kernels/cuda/device/operands.cuh"
#include "kernels/cuda/device/single_rows.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/long/query_gradient.cuh"

namespace quest::kernels::cuda::long_sequence {

struct BackwardTensors {
  CUtensorMap q{};
  CUtensorMap k{};
  CUtensorMap v{};
  CUtensorMap grad_out{};
  CUtensorMap grad_k{};
  CUtensorMap grad_v{};
  float* key_reciprocals;  // [B, Hk, Nk], written here; NaN where the key is not finite
  const float* rows;       // QueryRows [B, H, query tiles]
  int32_t* sums;           // [B, H, query tiles][queries][dim]
  int keys;
  int key_heads;
  int heads_per_key_head;
  int pairs;  // of batch and key head
  int key_tiles;
  int query_tiles;
  int pairs_together = 1;  // taken up before the next ones, to stay in the cache
  float scale;
  bool causal;
  CausalGradients given;
  Output key_gradients;
  Output value_gradients;
};

// Two warpgroups own keys, the third one fetches tiles.
constexpr int kOwnerThreads = 256;
constexpr int kBackwardThreads = kOwnerThreads + 128;

template <typename Tile>
struct BackwardMemory {
  static constexpr int kStages = Tile::kDim == 64 ? 2 : 3;
  using Keys = Panel<Tile::kKeys, Tile::kDim>;
  using Queries = Panel<Tile::kQueries, Tile::kDim>;
  using ScoreGradients = Panel<Tile::kKeys, Tile::kQueries>;
  using Rows = QueryRows<Tile::kQueries>;
  static constexpr int kPartBytes = PartOfTile::kNumbers * 4;

  static constexpr int kK = 0;
  static constexpr int kV = kK + Keys::kBytes;
  static constexpr int kQ = kV + Keys::kBytes;
  static constexpr int kGradOut = kQ + kStages * Queries::kBytes;
  static constexpr int kScoreGradients = kGradOut + kStages * Queries::kBytes;
  static constexpr int kParts = kScoreGradients + 2 * ScoreGradients::kBytes;
  static constexpr int kRows = kParts + 8 * kPartBytes;
  static constexpr int kBarriers = kRows + kStages * static_cast<int>(sizeof(Rows));
  static constexpr int kBytes = kBarriers + (6 + 2 * kStages) * 8;

  uint32_t base;

  __device__ Keys k() const { return {base + kK}; }
  __device__ Keys v() const { return {base + kV}; }
  __device__ Queries q(int stage) const { return {base + kQ + stage * Queries::kBytes}; }
  __device__ Queries grad_out(int stage) const { return {base + kGradOut + stage * Queries::kBytes}; }
  __device__ ScoreGradients score_gradients(int turn) const {
    return {base + kScoreGradients + turn * ScoreGradients::kBytes};
  }
  __device__ uint32_t part(int warp) const { return base + kParts + warp * kPartBytes; }
  __device__ uint32_t rows(int stage) const { return base + kRows + stage * static_cast<int>(sizeof(Rows)); }

  __device__ uint32_t barrier(int index) const { return base + kBarriers + index * 8; }
  __device__ uint32_t k_loaded() const { return barrier(0); }
  __device__ uint32_t v_loaded() const { return barrier(1); }
  __device__ uint32_t score_gradients_written(int turn) const { return barrier(2 + turn); }
  __device__ uint32_t score_gradients_read(int turn) const { return barrier(4 + turn); }
  __device__ uint32_t loaded(int stage) const { return barrier(6 + stage); }
  __device__ uint32_t released(int stage) const { return barrier(6 + kStages + stage); }

  __device__ void initialize_barriers() const {
    initialize_barrier(k_loaded(), 1);
    initialize_barrier(v_loaded(), 1);
    for (int turn = 0; turn < 2; ++turn) {
      initialize_barrier(score_gradients_written(turn), 8);
      initialize_barrier(score_gradients_read(turn), 8);
    }
    for (int stage = 0; stage < kStages; ++stage) {
      initialize_barrier(loaded(stage), 1);
      initialize_barrier(released(stage), kOwnerThreads);
    }
    publish_barriers();
  }
};

// A place in a ring of stages and how often it has been passed.
template <int kStages>
struct Stage {
  int index = 0;
  int parity = 0;

  __device__ void advance() {
    index = index + 1 == kStages ? 0 : index + 1;
    parity ^= index == 0;
  }
};

struct KeyBlock {
  int batch;
  int key_head;
  int tile;

  __device__ explicit KeyBlock(const BackwardTensors& p) {
    const int index = static_cast<int>(blockIdx.x);
    const int together = p.pairs_together * p.key_tiles;
    const int first_pair = index / together * p.pairs_together;
    const int pairs = min(p.pairs_together, p.pairs - first_pair);
    const int rest = index % together;
    const int pair = first_pair + rest % pairs;
    batch = pair / p.key_heads;
    key_head = pair % p.key_heads;
    tile = rest / pairs;
  }
};

// The query tiles of a block of keys: for every head of its group those in which some pairs are hidden, then for every
// head the others.
struct Visits {
  int heads;
  int first;
  int masked;
  int plain;
  int turn;  // blocks that run at the same time begin with different tiles, not to add to the same sums

  template <typename Tile>
  __device__ static Visits of(const BackwardTensors& p, int key_tile) {
    const bool partial = (key_tile + 1) * Tile::kKeys > p.keys;
    const int first = p.causal ? min(key_tile * (Tile::kKeys / Tile::kQueries), p.query_tiles) : 0;
    const int visible = p.query_tiles - first;
    const int diagonal = p.causal ? min(Tile::kKeys / Tile::kQueries, visible) : 0;
    const int masked = partial ? visible : diagonal;
    const int plain = visible - masked;
    return {p.heads_per_key_head, first, masked, plain, p.causal ? 0 : key_tile * plain / p.key_tiles};
  }

  __device__ int masked_count() const { return heads * masked; }
  __device__ int count() const { return heads * (masked + plain); }
  __device__ int masked_tile(int index) const { return first + index % masked; }
};

struct Visit {
  int head = 0;  // of the group
  int step = 0;

  __device__ int tile(const Visits& v) const {
    if (step < v.masked) return v.first + step;
    const int turned = step - v.masked + v.turn;
    return v.first + v.masked + (turned < v.plain ? turned : turned - v.plain);
  }

  __device__ void advance(const Visits& v) {
    ++step;
    const bool was_masked = step <= v.masked;
    if (step != v.masked && step != v.masked + v.plain) return;
    const bool last_head = ++head == v.heads;
    if (last_head) head = 0;
    step = was_masked && !last_head ? 0 : v.masked;
  }
};

// Keeps what is computed from x inside a loop from being moved out of it, into registers that accumulators need.
__device__ inline uint32_t recomputed(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

}  // namespace quest::kernels::cuda::long_sequence
