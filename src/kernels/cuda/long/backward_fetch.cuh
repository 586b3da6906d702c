#pragma once

// The thread of a backward block that keeps the copy engine busy.

#include "kernels/cuda/long/backward_block.cuh"

namespace quest::kernels::cuda::long_sequence {

template <typename Tile>
struct Fetcher {
  using Memory = BackwardMemory<Tile>;
  using Rows = typename Memory::Rows;

  const BackwardTensors& p;
  const Memory memory;
  const KeyBlock block;
  const Visits visits;

  template <typename AnyPanel>
  __device__ void fetch(AnyPanel panel, const CUtensorMap& map, int first_row, int head, uint32_t barrier) const {
#pragma unroll
    for (int i = 0; i < Tile::kDim / 64; ++i)
      load_box(panel.block(i), map, 64 * i, first_row, head, block.batch, barrier);
  }

  __device__ void fetch_values() const {
    expect_bytes(memory.v_loaded(), Memory::Keys::kBytes);
    fetch(memory.v(), p.v, block.tile * Tile::kKeys, block.key_head, memory.v_loaded());
  }

  __device__ void fetch_keys() const {
    expect_bytes(memory.k_loaded(), Memory::Keys::kBytes);
    fetch(memory.k(), p.k, block.tile * Tile::kKeys, block.key_head, memory.k_loaded());
  }

  __device__ void fetch_queries(const Visit& visit, int stage) const {
    constexpr int kRowBytes = static_cast<int>(sizeof(Rows));
    const int head = block.key_head * p.heads_per_key_head + visit.head;
    const int tile = visit.tile(visits);
    const int64_t of_all = (int64_t{block.batch} * p.key_heads * p.heads_per_key_head + head) * p.query_tiles + tile;
    const uint32_t loaded = memory.loaded(stage);
    expect_bytes(loaded, 2 * Memory::Queries::kBytes + kRowBytes);
    fetch(memory.q(stage), p.q, tile * Tile::kQueries, head, loaded);
    load_bytes(memory.rows(stage), reinterpret_cast<const Rows*>(p.rows) + of_all, kRowBytes, loaded);
    fetch(memory.grad_out(stage), p.grad_out, tile * Tile::kQueries, head, loaded);
  }

  __device__ void run() const {
    fetch_keys();
    fetch_values();
    wait_for_previous();
    Visit visit;
    Stage<Memory::kStages> stage;
    const int count = visits.count();
#pragma unroll 1
    for (int index = 0; index < count; ++index) {
      wait_barrier(memory.released(stage.index), stage.parity ^ 1);
      fetch_queries(visit, stage.index);
      visit.advance(visits);
      stage.advance();
    }
  }
};

}  // namespace quest::kernels::cuda::long_sequence
