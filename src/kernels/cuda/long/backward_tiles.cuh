#pragma once

// The backward's products. A block owns 128 keys, half of them in each of two warpgroups, and visits tiles of queries
// that a third warpgroup fetches. Scores are held transposed, keys in rows, so that weights and score gradients are
// left operands of grad_v and grad_k where they are; only grad_q needs the score gradients in shared memory.

#include <climits>
#include <cstddef>

#include "kernels/cuda/device/products.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/long/query_gradient.cuh"

namespace quest::kernels::cuda::long_sequence {

struct BackwardTensors {
  CUtensorMap q;
  CUtensorMap k;
  CUtensorMap v;
  CUtensorMap grad_out;
  CUtensorMap grad_k;
  CUtensorMap grad_v;
  const float* key_reciprocals;  // [B, Hk, Nk]
  const float* rows;             // QueryRows [B, H, query tiles]
  int32_t* sums;                 // [B, H, query tiles][queries][dim]
  int keys;
  int key_heads;
  int heads_per_key_head;
  int pairs;  // of batch and key head
  int key_tiles;
  int query_tiles;
  int pairs_together;  // taken up before the next ones, to stay in the cache
  float scale;
  bool causal;
};

constexpr int kBackwardThreads = 384;

template <typename Tile>
struct BackwardMemory {
  static constexpr int kStages = 3;
  using Keys = Panel<Tile::kKeys, Tile::kDim>;
  using Queries = Panel<Tile::kQueries, Tile::kDim>;
  using ScoreGradients = Panel<Tile::kKeys, Tile::kQueries>;
  using Rows = QueryRows<Tile::kQueries>;

  static constexpr int kK = 0;
  static constexpr int kV = kK + Keys::kBytes;
  static constexpr int kQ = kV + Keys::kBytes;
  static constexpr int kGradOut = kQ + kStages * Queries::kBytes;
  static constexpr int kScoreGradients = kGradOut + kStages * Queries::kBytes;
  static constexpr int kSums = kScoreGradients + ScoreGradients::kBytes;
  static constexpr int kRows = kSums + Tile::kQueries * Tile::kDim * 4;
  static constexpr int kBarriers = kRows + kStages * sizeof(Rows);
  static constexpr int kBytes = kBarriers + (4 + 2 * kStages) * 8;

  uint32_t base;

  __device__ Keys k() const { return {base + kK}; }
  __device__ Keys v() const { return {base + kV}; }
  __device__ Queries q(int stage) const { return {base + kQ + stage * Queries::kBytes}; }
  __device__ Queries grad_out(int stage) const { return {base + kGradOut + stage * Queries::kBytes}; }
  __device__ ScoreGradients score_gradients() const { return {base + kScoreGradients}; }
  __device__ uint32_t sums(int warp) const { return base + kSums + warp * PartOfTile::kNumbers * 4; }
  __device__ uint32_t rows(int stage) const { return base + kRows + stage * static_cast<int>(sizeof(Rows)); }

  __device__ uint32_t k_loaded() const { return base + kBarriers; }
  __device__ uint32_t v_loaded() const { return base + kBarriers + 8; }
  __device__ uint32_t score_gradients_written() const { return base + kBarriers + 16; }
  __device__ uint32_t score_gradients_read() const { return base + kBarriers + 24; }
  __device__ uint32_t loaded(int stage) const { return base + kBarriers + 32 + stage * 8; }
  __device__ uint32_t released(int stage) const { return base + kBarriers + 32 + (kStages + stage) * 8; }
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
    return {p.heads_per_key_head, first, masked, plain, p.causal ? 0 : key_tile % p.key_tiles * plain / p.key_tiles};
  }

  __device__ int masked_count() const { return heads * masked; }
  __device__ int count() const { return heads * (masked + plain); }
};

struct Visit {
  int head = 0;
  int step = 0;

  __device__ int tile(const Visits& v) const {
    if (step < v.masked) return v.first + step;
    const int turned = step - v.masked + v.turn;
    return v.first + v.masked + (turned < v.plain ? turned : turned - v.plain);
  }

  // `index` counts the visits.
  __device__ void advance(const Visits& v, int index) {
    const bool masked = index < v.masked_count();
    ++step;
    const bool next_head = step == (masked ? v.masked : v.masked + v.plain);
    const bool first_plain = index + 1 == v.masked_count();
    head = first_plain ? 0 : next_head ? head + 1 : head;
    step = first_plain ? v.masked : next_head ? (masked ? 0 : v.masked) : step;
  }
};

struct KeyBlock {
  int batch;
  int key_head;
  int tile;

  __device__ explicit KeyBlock(const BackwardTensors& p) {
    const int together = p.pairs_together * p.key_tiles;
    const int first_pair = static_cast<int>(blockIdx.x) / together * p.pairs_together;
    const int pairs = min(p.pairs_together, p.pairs - first_pair);
    const int rest = static_cast<int>(blockIdx.x) % together;
    const int pair = first_pair + rest % pairs;
    batch = pair / p.key_heads;
    key_head = pair % p.key_heads;
    tile = rest / pairs;
  }
};

template <typename Tile>
__device__ void fetch_tiles(const BackwardTensors& p, BackwardMemory<Tile> memory, const KeyBlock& block,
                            const Visits& visits) {
  using Memory = BackwardMemory<Tile>;
  const auto fetch = [&](auto panel, const CUtensorMap& map, int first_row, int head, uint32_t barrier) {
#pragma unroll
    for (int i = 0; i < Tile::kDim / 64; ++i)
      load_box(panel.block(i), map, 64 * i, first_row, head, block.batch, barrier);
  };
  expect_bytes(memory.k_loaded(), Memory::Keys::kBytes);
  fetch(memory.k(), p.k, block.tile * Tile::kKeys, block.key_head, memory.k_loaded());
  expect_bytes(memory.v_loaded(), Memory::Keys::kBytes);
  fetch(memory.v(), p.v, block.tile * Tile::kKeys, block.key_head, memory.v_loaded());

  const int first_head = block.key_head * p.heads_per_key_head;
  Stage<Memory::kStages> stage;
  Visit visit;
  const int count = visits.count();
  for (int i = 0; i < count; ++i) {
    const int head = first_head + visit.head;
    const int tile = visit.tile(visits);
    const uint32_t loaded = memory.loaded(stage.index);
    wait_barrier(memory.released(stage.index), stage.parity ^ 1);
    expect_bytes(loaded, 2 * Memory::Queries::kBytes + static_cast<int>(sizeof(typename Memory::Rows)));
    fetch(memory.q(stage.index), p.q, tile * Tile::kQueries, head, loaded);
    const int64_t of_all = (int64_t{block.batch} * p.key_heads * p.heads_per_key_head + head) * p.query_tiles + tile;
    load_bytes(memory.rows(stage.index), reinterpret_cast<const typename Memory::Rows*>(p.rows) + of_all,
               sizeof(typename Memory::Rows), loaded);
    fetch(memory.grad_out(stage.index), p.grad_out, tile * Tile::kQueries, head, loaded);
    visit.advance(visits, i);
    stage.advance();
  }
  // The scores of a tile are begun while the one before is worked on, also after the last one.
  wait_barrier(memory.released(stage.index), stage.parity ^ 1);
  arrive(memory.loaded(stage.index));
}

__device__ inline float2 load_pair(uint32_t address) {
  float2 x;
  asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];" : "=f"(x.x), "=f"(x.y) : "r"(address));
  return x;
}

__device__ inline float load_float(uint32_t address) {
  float x;
  asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(address));
  return x;
}

__device__ inline void store_chunk(uint32_t address, int a, int b, int c, int d) {
  asm volatile("st.shared.v4.s32 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(a), "r"(b), "r"(c), "r"(d) : "memory");
}

// Keeps what is computed from x inside a loop from being moved out of it, into registers that accumulators need.
__device__ inline uint32_t recomputed(uint32_t x) {
  asm volatile("" : "+r"(x));
  return x;
}

// Where this lane points ldmatrix or stmatrix for the 16 x 16 block at (row, 16 * step).
__device__ inline int block_lane() { return lane_id() % 16 * 128 + ((lane_id() / 16 ^ lane_id() % 8) << 4); }

template <typename AnyPanel>
__device__ uint32_t block_address(AnyPanel panel, int row, int step) {
  return panel.block(step / 4) + row * 128 + (block_lane() ^ step % 4 * 32);
}

// One of the two warpgroups that multiply: 64 keys.
template <typename T, typename Tile>
struct KeyOwner {
  using Memory = BackwardMemory<Tile>;
  using Rows = typename Memory::Rows;
  static constexpr int kScores = Tile::kQueries / 8;
  static constexpr int kOutputs = Tile::kDim / 8;
  static constexpr int kThreads = 256;

  const BackwardTensors& p;
  const Memory memory;
  const KeyBlock block;
  const Visits visits;
  const int group = warp_id() / 4;
  const int first_key = group * 64;                        // of the tile
  const int warp_key = group * 64 + warp_id() % 4 * 16;    // of the tile
  const int first_seen[2] = {seen_from(0), seen_from(8)};  // queries that see this lane's keys
  const float scale_log2 = p.scale * kLog2E;

  Accumulator grad_k[kOutputs] = {};
  Accumulator grad_v[kOutputs] = {};
  Accumulator scores[kScores];
  Stage<Memory::kStages> stage;
  Visit visit;

  __device__ int seen_from(int row) const {
    const int key = block.tile * Tile::kKeys + warp_key + row + lane_row();
    return key >= p.keys ? INT_MAX : p.causal ? key : 0;
  }

  __device__ void begin_scores(Memory memory, int of_stage) {
    open_products();
#pragma unroll
    for (int step = 0; step < Tile::kDim / 16; ++step)
      multiply<T>(scores, sum_columns(memory.k(), first_key, step), sum_columns(memory.q(of_stage), 0, step),
                  step != 0);
    commit_products();
  }

  template <bool kMasked>
  __device__ bool hidden(int tile, int column, int half) const {
    return kMasked && tile * Tile::kQueries + column + lane_column() < first_seen[half];
  }

  // The scores of this tile are under way or done, and so is grad_k of the tile before.
  template <bool kMasked>
  __device__ void work(int index) {
    const Memory memory{recomputed(this->memory.base)};
    const int group = static_cast<int>(recomputed(this->group));
    const int first_key = group * 64;
    const int tile = visit.tile(visits);
    const auto q = memory.q(stage.index);
    const auto grad_out = memory.grad_out(stage.index);
    const uint32_t rows = memory.rows(stage.index);
    const uint32_t columns = rows + lane_column() * 4;

    Accumulator gradients[kScores];
    open_products();
#pragma unroll
    for (int step = 0; step < Tile::kDim / 16; ++step)
      multiply<T>(gradients, sum_columns(memory.v(), first_key, step), sum_columns(grad_out, 0, step), step != 0);
    commit_products();
    wait_products_until<1>();
    pin(scores);
    arrive_if(index > 0 && lane_id() == 0, memory.released(stage.index == 0 ? Memory::kStages - 1 : stage.index - 1));

    // In halves: the first products run while the second weights are made, and only one half waits in registers.
    Fragment weights[kScores / 4];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
#pragma unroll
      for (int n = 0; n < kScores / 2; ++n) {
        const int i = half * kScores / 2 + n;
        const float2 lse = load_pair(columns + offsetof(Rows, lse) + i * 32);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float& x = scores[i].x[j];
          x = exp2_fast(fmaf(x, scale_log2, -(j % 2 == 0 ? lse.x : lse.y)));
          if (hidden<kMasked>(tile, i * 8 + j % 2, j / 2)) x = 0;
        }
      }
      if (half == 1) {
        wait_products_until<0>();
        pin(weights);
        pin(gradients);
      }
#pragma unroll
      for (int step = 0; step < kScores / 4; ++step) {
        const int i = half * kScores / 2 + 2 * step;
        weights[step] = pack<T>(scores[i], scores[i + 1]);
      }
      open_products();
#pragma unroll
      for (int step = 0; step < kScores / 4; ++step)
        multiply<T>(grad_v, weights[step], sum_rows(grad_out, 16 * (half * kScores / 4 + step)), true);
      commit_products();
    }

    Fragment score_gradients[kScores / 2];
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const float2 delta = load_pair(columns + offsetof(Rows, delta) + i * 32);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = gradients[i].x[j];
        x = scores[i].x[j] * (x - (j % 2 == 0 ? delta.x : delta.y));
        if (hidden<kMasked>(tile, i * 8 + j % 2, j / 2)) x = 0;
      }
    }
    pack_all<Tile::kQueries, T>(score_gradients, gradients);
    wait_products_until<0>();
    pin(weights);

    wait_barrier(memory.score_gradients_read(), (index & 1) ^ 1);
#pragma unroll
    for (int step = 0; step < kScores / 2; ++step)
      store_matrix(block_address(memory.score_gradients(), warp_key, step), score_gradients[step]);
    order_with_engines();
    __syncwarp();
    arrive_if(lane_id() == 0, memory.score_gradients_written());

    Stage<Memory::kStages> next = stage;
    next.advance();
    wait_barrier(memory.loaded(next.index), next.parity);
    begin_scores(memory, next.index);

    wait_barrier(memory.score_gradients_written(), index & 1);
    Accumulator grad_q[8];
    open_products();
#pragma unroll
    for (int step = 0; step < Tile::kKeys / 16; ++step) {
      constexpr bool kWide = Tile::kDim == 128;
      multiply<T>(grad_q, sum_rows(memory.score_gradients(), 16 * step, kWide ? 0 : group),
                  sum_rows(memory.k(), 16 * step, kWide ? group : 0), step != 0);
    }
    commit_products();
#pragma unroll
    for (int step = 0; step < kScores / 2; ++step)
      multiply<T>(grad_k, score_gradients[step], sum_rows(q, 16 * step), true);
    commit_products();
    wait_products_until<0>();
    pin(grad_k);
    pin(scores);
    pin(grad_q);
    arrive_if(lane_id() == 0, memory.score_gradients_read());
    add_to_sums(grad_q, rows, tile);
    pin(score_gradients);

    visit.advance(visits, index);
    stage = next;
  }

  __device__ void add_to_sums(const Accumulator (&grad_q)[8], uint32_t rows, int tile) {
    const PartOfTile part = part_of_tile<Tile>(warp_id());
    const uint32_t chunks = memory.sums(warp_id()) + lane_id() * 16;
    wait_stores_read();
    __syncwarp();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float factor =
          load_float(rows + static_cast<int>(offsetof(Rows, factor)) + (part.first_row + half * 8 + lane_row()) * 4);
      const auto fixed = [&](int i, int j) { return __float2int_rn(grad_q[i].x[2 * half + j] * factor); };
#pragma unroll
      for (int i = 0; i < 4; ++i)
        store_chunk(chunks + (half * 4 + i) * 512, fixed(2 * i, 0), fixed(2 * i, 1), fixed(2 * i + 1, 0),
                    fixed(2 * i + 1, 1));
    }
    order_with_engines();
    __syncwarp();
    const int64_t of_all = (int64_t{block.batch} * p.key_heads * p.heads_per_key_head +
                            block.key_head * p.heads_per_key_head + visit.head) *
                               p.query_tiles +
                           tile;
    add_integers_if(lane_id() == 0, p.sums + (of_all * 8 + warp_id()) * PartOfTile::kNumbers, memory.sums(warp_id()),
                    PartOfTile::kNumbers * 4);
  }

  // The gradient of the keys as given from that of the unit keys: its part along the key is taken away.
  __device__ void project() {
    const int row = block.tile * Tile::kKeys + warp_key + lane_row();
    const float* reciprocals = p.key_reciprocals + (int64_t{block.batch} * p.key_heads + block.key_head) * p.keys;
    const float factor[2] = {row < p.keys ? reciprocals[row] * p.scale : 0,
                             row + 8 < p.keys ? reciprocals[row + 8] * p.scale : 0};
    float along[2] = {};
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step) {
      const Fragment k = load_matrix(block_address(memory.k(), warp_key, step));
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        const Accumulator& x = grad_k[2 * step + word / 2];
        along[word % 2] = fmaf(Element<T>::low(k.x[word]), x.x[word % 2 * 2], along[word % 2]);
        along[word % 2] = fmaf(Element<T>::high(k.x[word]), x.x[word % 2 * 2 + 1], along[word % 2]);
      }
    }
    along[0] = quad_sum(along[0]);
    along[1] = quad_sum(along[1]);
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step) {
      const Fragment k = load_matrix(block_address(memory.k(), warp_key, step));
#pragma unroll
      for (int word = 0; word < 4; ++word) {
        Accumulator& x = grad_k[2 * step + word / 2];
        const int half = word % 2;
        x.x[half * 2] = fmaf(Element<T>::low(k.x[word]), -along[half], x.x[half * 2]) * factor[half];
        x.x[half * 2 + 1] = fmaf(Element<T>::high(k.x[word]), -along[half], x.x[half * 2 + 1]) * factor[half];
      }
    }
  }

  // Through the place that the keys or values had.
  __device__ void store(const Accumulator (&x)[kOutputs], typename Memory::Keys place, const CUtensorMap& map) {
    Fragment packed[kOutputs / 2];
    pack_all<Tile::kDim, T>(packed, x);
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step) store_matrix(block_address(place, warp_key, step), packed[step]);
    order_with_engines();
    meet(2 + group, 128);
    if (threadIdx.x % 128 != 0) return;
#pragma unroll
    for (int i = 0; i < Tile::kDim / 64; ++i)
      store_box(map, 64 * i, block.tile * Tile::kKeys + first_key, block.key_head, block.batch,
                place.block(i) + first_key * 128);
    commit_stores();
  }

  __device__ void run() {
    wait_barrier(memory.k_loaded(), 0);
    wait_barrier(memory.loaded(0), 0);
    begin_scores(memory, 0);
    wait_barrier(memory.v_loaded(), 0);
    wait_products_until<0>();
    pin(scores);
    const int count = visits.count();
    const int masked = visits.masked_count();
    int index = 0;
    for (; index < masked; ++index) work<true>(index);
    for (; index < count; ++index) work<false>(index);
    wait_products_until<0>();
    pin(scores);
    pin(grad_k);
    pin(grad_v);
    meet(1, kThreads);  // nobody reads keys and values any more
    store(grad_v, memory.v(), p.grad_v);
    project();
    store(grad_k, memory.k(), p.grad_k);
    wait_stores_read();
  }
};

template <typename T, typename Tile>
__global__ void __launch_bounds__(kBackwardThreads, 1) multiply_tiles(const __grid_constant__ BackwardTensors p) {
  using Memory = BackwardMemory<Tile>;
  extern __shared__ __align__(1024) uint8_t shared[];
  const Memory memory{static_cast<uint32_t>(__cvta_generic_to_shared(shared))};
  if (threadIdx.x == 0) {
    initialize_barrier(memory.k_loaded(), 1);
    initialize_barrier(memory.v_loaded(), 1);
    initialize_barrier(memory.score_gradients_written(), 8);
    initialize_barrier(memory.score_gradients_read(), 8);
    for (int stage = 0; stage < Memory::kStages; ++stage) {
      initialize_barrier(memory.loaded(stage), 1);
      initialize_barrier(memory.released(stage), 8);
    }
    publish_barriers();
  }
  __syncthreads();
  const KeyBlock block(p);
  const Visits visits = Visits::of<Tile>(p, block.tile);
  if (warp_id() >= 8) {
    keep_registers<24>();
    if (threadIdx.x == 256) fetch_tiles<Tile>(p, memory, block, visits);
  } else {
    take_registers<240>();
    KeyOwner<T, Tile>{p, memory, block, visits}.run();
  }
}

}  // namespace quest::kernels::cuda::long_sequence
