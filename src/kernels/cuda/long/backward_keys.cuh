#pragma once

// One of the two warpgroups of a backward block that own 64 keys each. Scores are held transposed, keys in rows, so
// that weights and score gradients are left operands of grad_v and grad_k where they are; only grad_q needs the score
// gradients in shared memory.

#include <climits>

#include "kernels/cuda/device/key_scale.cuh"
#include "kernels/cuda/device/shared_memory.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/long/backward_block.cuh"

namespace quest::kernels::cuda::long_sequence {

// Where this lane points ldmatrix or stmatrix for the 16 x 16 block at (row, 16 * step).
template <typename AnyPanel>
__device__ uint32_t block_address(AnyPanel panel, int row, int step) {
  const int in_first = lane_id() % 16 * 128 + ((lane_id() / 16 ^ lane_id() % 8) << 4);
  return panel.block(step / 4) + row * 128 + (in_first ^ step % 4 * 32);
}

template <typename T, typename Tile>
struct KeyOwner {
  using Memory = BackwardMemory<Tile>;
  using Rows = typename Memory::Rows;
  static constexpr int kScores = Tile::kQueries / 8;
  static constexpr int kOutputs = Tile::kDim / 8;
  static constexpr int kPart = kScores / 2;  // scores taken at a time

  const BackwardTensors& p;
  const Memory shared;
  const KeyBlock block;
  const Visits visits;

  Accumulator grad_k[kOutputs] = {};
  Accumulator grad_v[kOutputs] = {};
  Fragment score_gradients[kScores / 2];
  Stage<Memory::kStages> stage;

  // Of the tile whose score gradients are handed over, and of the one before it; zeros are added before the first.
  struct Sums {
    float factor[2] = {};
    int tile = 0;
  };
  Sums current;
  Sums previous;

  __device__ int group() const { return warp_id() / 4; }
  __device__ int warp_key() const { return warp_id() * 16; }

  // 1 / |k| of the keys of this head; a block writes those of its own.
  __device__ float* reciprocals() const {
    return p.key_reciprocals + (int64_t{block.batch} * p.key_heads + block.key_head) * p.keys;
  }

  // Keys become unit keys where they lie.
  __device__ void normalize() const {
    const int first_key = block.tile * Tile::kKeys + warp_key() + lane_row();
    Fragment key[kOutputs / 2];
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step)
      key[step] = load_matrix(block_address(shared.k(), warp_key(), step));
    change_rows(key, [&](int half, auto& words) {
      const bool is_key = first_key + 8 * half < p.keys;
      const KeyScale scale = key_scale<T>(words, is_key);
      scale_words<T>(words, scale.power, scale.reciprocal);
      if (is_key && lane_id() % 4 == 0)
        reciprocals()[first_key + 8 * half] = scale.squares <= FLT_MAX ? scale.reciprocal_norm() : NAN;
    });
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step)
      store_matrix(block_address(shared.k(), warp_key(), step), key[step]);
    order_with_engines();
    meet(1, 256);
  }

  // rows = keys or values of this group, times the transposed tile of queries
  __device__ void begin(Accumulator (&product)[kScores], typename Memory::Keys rows, typename Memory::Queries tile) {
    open_products();
#pragma unroll
    for (int step = 0; step < Tile::kDim / 16; ++step)
      multiply<T>(product, sum_columns(rows, group() * 64, step), sum_columns(tile, 0, step), step != 0);
    commit_products();
  }

  // The first query of the tile that sees this lane's key.
  template <bool kMasked>
  __device__ int first_seen(int index, int row) const {
    if constexpr (!kMasked) return 0;
    const int key = block.tile * Tile::kKeys + warp_key() + row + lane_row();
    return key >= p.keys ? INT_MAX : p.causal ? key - visits.masked_tile(index) * Tile::kQueries - lane_column() : 0;
  }

  // Of a tile of queries; the gradients are those of the weights. Not members, so that they live no longer than needed.
  struct Products {
    Accumulator scores[kScores];
    Accumulator gradients[kScores];
  };

  // From scores to weights, grad_v and score gradients.
  template <bool kMasked>
  __device__ void weigh(Products& products, int index) {
    auto& [scores, gradients] = products;
    const Memory memory{recomputed(shared.base)};
    const auto grad_out = memory.grad_out(stage.index);
    const uint32_t columns = memory.rows(stage.index) + lane_column() * 4;
    const float scale = p.scale * kLog2E;
    const int seen[2] = {first_seen<kMasked>(index, 0), first_seen<kMasked>(index, 8)};
    const auto hidden = [&](int i, int j) { return kMasked && i * 8 + j % 2 < seen[j / 2]; };

    // In parts: products run while the next weights are made, and few weights wait in registers.
    Fragment weights[kPart / 2];
#pragma unroll
    for (int part = 0; part < kScores / kPart; ++part) {
#pragma unroll
      for (int n = 0; n < kPart; ++n) {
        const int i = part * kPart + n;
        const float2 lse = load_shared_float2(columns + offsetof(Rows, lse) + i * 32);
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          float& x = scores[i].x[j];
          x = exp2_fast(fmaf(x, scale, -(j % 2 == 0 ? lse.x : lse.y)));
          if (hidden(i, j)) x = 0;
        }
      }
      if (part > 0) {
        wait_products();
        pin(weights);
        pin(gradients);
      }
#pragma unroll
      for (int step = 0; step < kPart / 2; ++step)
        weights[step] = pack<T>(scores[part * kPart + 2 * step], scores[part * kPart + 2 * step + 1]);
      open_products();
#pragma unroll
      for (int step = 0; step < kPart / 2; ++step)
        multiply<T>(grad_v, weights[step], sum_rows(grad_out, part * kPart * 8 + 16 * step), true);
      commit_products();
    }
#pragma unroll
    for (int i = 0; i < kScores; ++i) {
      const float2 delta = load_shared_float2(columns + offsetof(Rows, delta) + i * 32);
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        float& x = gradients[i].x[j];
        x = scores[i].x[j] * (x - (j % 2 == 0 ? delta.x : delta.y));
        if (hidden(i, j)) x = 0;
      }
    }
    pack_all<Tile::kQueries, T>(score_gradients, gradients);
    wait_products();
    pin(weights);
    pin(grad_v);
  }

  // Puts the score gradients where both groups can read them.
  __device__ void share(Memory memory, int index) {
    const int turn = index & 1;
    wait_barrier(memory.score_gradients_read(turn), ((index + 1) >> 1 & 1) ^ 1);
#pragma unroll
    for (int step = 0; step < kScores / 2; ++step)
      store_matrix(block_address(memory.score_gradients(turn), warp_key(), step), score_gradients[step]);
    order_with_engines();
    warp_arrives(memory.score_gradients_written(turn));

    previous = current;
    const uint32_t rows = memory.rows(stage.index);
    const int first_row = part_of_tile<Tile>(warp_id()).first_row + lane_row();
    current.factor[0] = load_shared_float(rows + offsetof(Rows, factor) + first_row * 4);
    current.factor[1] = load_shared_float(rows + offsetof(Rows, factor) + (first_row + 8) * 4);
    current.tile = __float_as_int(load_shared_float(rows + offsetof(Rows, tile)));
  }

  __device__ void begin_grad_k(Memory memory) {
    open_products();
#pragma unroll
    for (int step = 0; step < kScores / 2; ++step)
      multiply<T>(grad_k, score_gradients[step], sum_rows(memory.q(stage.index), 16 * step), true);
    commit_products();
  }

  // This group's half of a tile of grad_q: 64 columns of it, or 64 rows where it has no more columns.
  __device__ void begin_grad_q(Accumulator (&grad_q)[8], Memory memory, int index) {
    constexpr bool kWide = Tile::kDim == 128;
    const int turn = index & 1;
    wait_barrier(memory.score_gradients_written(turn), index >> 1 & 1);
    open_products();
#pragma unroll
    for (int step = 0; step < Tile::kKeys / 16; ++step)
      multiply<T>(grad_q, sum_rows(memory.score_gradients(turn), 16 * step, kWide ? 0 : group()),
                  sum_rows(memory.k(), 16 * step, kWide ? group() : 0), step != 0);
    commit_products();
  }

  __device__ void add_grad_q(Accumulator (&grad_q)[8], Memory memory, int index, const Sums& of) {
    pin(grad_q);
    warp_arrives(memory.score_gradients_read(index & 1));
    const uint32_t part = memory.part(warp_id());
    const uint32_t chunks = part + lane_id() * 16;
    wait_stores_read();
    __syncwarp();
#pragma unroll
    for (int row = 0; row < 2; ++row) {
      const auto fixed = [&](int i, int j) { return __float2int_rn(grad_q[i].x[2 * row + j] * of.factor[row]); };
#pragma unroll
      for (int i = 0; i < 4; ++i)
        asm volatile("st.shared.v4.s32 [%0], {%1,%2,%3,%4};" ::"r"(chunks + (row * 4 + i) * 512), "r"(fixed(2 * i, 0)),
                     "r"(fixed(2 * i, 1)), "r"(fixed(2 * i + 1, 0)), "r"(fixed(2 * i + 1, 1))
                     : "memory");
    }
    order_with_engines();
    __syncwarp();
    add_integers_if(lane_id() == 0, p.sums + (int64_t{of.tile} * 8 + warp_id()) * PartOfTile::kNumbers, part,
                    Memory::kPartBytes);
  }

  // With the score gradients of the tile before: its part of grad_k; grad_q of the one before that, which both groups
  // have long shared, so that they need not run in step. Then this tile.
  template <bool kMasked>
  __device__ void step(int index) {
    const Memory memory{recomputed(shared.base)};
    share(memory, index - 1);
    auto next = stage;
    next.advance();
    Products products;
    wait_barrier(memory.loaded(next.index), next.parity);
    begin(products.scores, memory.k(), memory.q(next.index));
    {
      Accumulator grad_q[8];
      begin_grad_q(grad_q, memory, index - 2);
      begin_grad_k(memory);
      wait_products<1>();
      pin(products.scores);
      add_grad_q(grad_q, memory, index - 2, previous);
    }
    wait_products();
    pin(score_gradients);
    pin(grad_k);
    arrive(memory.released(stage.index));
    stage = next;
    begin(products.gradients, memory.v(), memory.grad_out(stage.index));
    weigh<kMasked>(products, index);
  }

  __device__ void finish(int count) {
    share(shared, count - 1);
    Accumulator grad_q[8];
    begin_grad_q(grad_q, shared, count - 2);
    begin_grad_k(shared);
    wait_products<1>();
    add_grad_q(grad_q, shared, count - 2, previous);
    wait_products();
    pin(score_gradients);
    pin(grad_k);
    begin_grad_q(grad_q, shared, count - 1);
    wait_products();
    add_grad_q(grad_q, shared, count - 1, current);
  }

  // The gradient of the keys as given from that of the unit keys: its part along the key is taken away.
  __device__ void project() {
    const int row = block.tile * Tile::kKeys + warp_key() + lane_row();
    const float factor[2] = {row < p.keys ? reciprocals()[row] * p.scale : 0,
                             row + 8 < p.keys ? reciprocals()[row + 8] * p.scale : 0};
    float along[2] = {};
#pragma unroll
    for (int step = 0; step < kOutputs / 2; ++step) {
      const Fragment k = load_matrix(block_address(shared.k(), warp_key(), step));
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
      const Fragment k = load_matrix(block_address(shared.k(), warp_key(), step));
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
    for (int step = 0; step < kOutputs / 2; ++step) store_matrix(block_address(place, warp_key(), step), packed[step]);
    order_with_engines();
    meet(2 + group(), 128);
    if (threadIdx.x % 128 != 0) return;
#pragma unroll
    for (int i = 0; i < Tile::kDim / 64; ++i)
      store_box(map, 64 * i, block.tile * Tile::kKeys + group() * 64, block.key_head, block.batch,
                place.block(i) + group() * 64 * 128);
    commit_stores();
  }

  __device__ void run() {
    const int count = visits.count();
    wait_barrier(shared.k_loaded(), 0);
    normalize();
    wait_barrier(shared.v_loaded(), 0);
    if (count > 0) {
      const int masked = visits.masked_count();
      Products products;
      wait_barrier(shared.loaded(0), 0);
      begin(products.scores, shared.k(), shared.q(0));
      begin(products.gradients, shared.v(), shared.grad_out(0));
      wait_products<1>();
      pin(products.scores);
      weigh<true>(products, 0);
      int index = 1;
      for (; index < masked; ++index) step<true>(index);
      for (; index < count; ++index) step<false>(index);
      finish(count);
    }
    store(grad_v, shared.v(), p.grad_v);
    meet(1, 256);  // nobody reads keys any more
    project();
    store(grad_k, shared.k(), p.grad_k);
    wait_stores_read();
    if (p.causal) mend();
  }

  // Rows of keys that a query without finite numbers does not see.
  __device__ void mend() const {
    if (!meet_any(2 + group(), 128, is_spoiled(grad_k) || is_spoiled(grad_v))) return;
    wait_stores();
    meet(2 + group(), 128);
    const auto grad_k_rows = rows_of<T>(p.key_gradients, block.batch, block.key_head, p.given.dim);
    const auto grad_v_rows = rows_of<T>(p.value_gradients, block.batch, block.key_head, p.given.value_dim);
    const int first_key = block.tile * Tile::kKeys + warp_key();
    for (int key = first_key; key < min(first_key + 16, p.keys); ++key) {
      if (grad_k_rows[key].is_finite() && grad_v_rows[key].is_finite()) continue;
      SingleRow key_sum;
      SingleRow value_sum;
      for (int i = 0; i < p.heads_per_key_head; ++i) {
        const auto head = p.given.of_head<T>(block.batch, block.key_head * p.heads_per_key_head + i);
        head.add_to_key(key, p.given.queries, key_sum, value_sum);
      }
      if (key < p.given.queries) {
        const auto keys = rows_of<const T>(p.given.k, block.batch, block.key_head, p.given.dim);
        key_sum = projected(key_sum, UnitKey(keys[key]), reciprocals()[key], p.scale);
      }
      grad_k_rows.store(key, key_sum);
      grad_v_rows.store(key, value_sum);
    }
  }
};

}  // namespace quest::kernels::cuda::long_sequence
