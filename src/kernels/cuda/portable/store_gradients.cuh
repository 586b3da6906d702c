#pragma once

// From what the warps of a GradientBlock have summed to gradients in memory.

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/store.cuh"

namespace quest::kernels::cuda::portable {

// dK of row tile r.
template <typename Block, int kBlocks>
__device__ void store_key_rows(const Block& block, Accumulator (&sums)[kBlocks], int r) {
  const auto& p = block.p;
  const Sequence& sequence = block.sequence;
  const int first_row = block.first_row + r * 16;
  if (p.k.dim > p.grad_k.dim) {  // what the second half of the queries gave
    add(sums[0], sums[1]);
    sums[1] = {};
  }
  scale_rows(sums, p.problem.scale / block.owned_factor(r, 0), p.problem.scale / block.owned_factor(r, 1));
  if (p.key_reciprocals != nullptr) {
    const float* reciprocals = p.key_reciprocals + dense_row(sequence.batch, p.problem.kv_heads, block.head,
                                                             p.problem.keys, sequence.first_key);
    project_rows(sums, reciprocals, first_row, block.rules.keys, [&](int row, int column) {
      const int of_tile = row - block.first_owned;
      return block.owned(0).element(of_tile, column) * block.memory.owned_factors[of_tile];
    });
  }
  store_rows<typename Block::Stored>(sums, {p.grad_k, sequence.batch, block.head, sequence.first_key}, first_row,
                                     static_cast<int>(sequence.keys_stored));
}

// dV of row tile r.
template <typename Block, int kBlocks>
__device__ void store_value_rows(const Block& block, Accumulator (&sums)[kBlocks], int r) {
  const auto& p = block.p;
  const float kept = p.problem.dropout_p > 0 ? DropoutFactors(p.problem.dropout_p).kept : 1.0f;
  scale_rows(sums, kept / block.owned_factor(r, 0), kept / block.owned_factor(r, 1));
  store_rows<typename Block::Stored>(sums, {p.grad_v, block.sequence.batch, block.head, block.sequence.first_key},
                                     block.first_row + r * 16, static_cast<int>(block.sequence.keys_stored));
}

// Each warp of a pair has half of the columns of two matrices, and receives all columns of one: the first warp of the
// first. Called by all threads, kAtOnce of whose accumulators have room.
template <int kAtOnce, int kHalf>
__device__ void trade_columns(const Accumulator (&first)[kHalf], const Accumulator (&second)[kHalf],
                              Accumulator (&whole)[2 * kHalf], Accumulator* shared) {
  const bool gets_second = warp_id() % 2 == 1;
  Accumulator* places = shared + lane_id();
#pragma unroll
  for (int begin = 0; begin < kHalf; begin += kAtOnce) {
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      places[(warp_id() * kAtOnce + i) * 32] = gets_second ? first[begin + i] : second[begin + i];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const Accumulator received = places[((warp_id() ^ 1) * kAtOnce + i) * 32];
      whole[begin + i] = gets_second ? received : first[begin + i];
      whole[kHalf + begin + i] = gets_second ? second[begin + i] : received;
    }
  }
}

template <typename Block>
__device__ void store_gradients(Block& block) {
  using Shape = typename Block::Shape;
  if constexpr (Shape::kPaired) {
    auto& room = block.memory.streamed_first;
    constexpr int kAtOnce = Shape::kSumColumns % 64 == 0 ? 8 : 6;
    static_assert(sizeof(room) >= sizeof(Accumulator) * kAtOnce * Shape::kThreads);
    auto* shared = reinterpret_cast<Accumulator*>(room);
    const int warp = block.warp_of_pair();
    auto& keys = block.first_sums;
    auto& values = block.second_sums;
    Accumulator whole[Shape::kSumColumns / 8 * 2];
    if constexpr (Shape::kRowTiles == 2) {
      trade_columns<kAtOnce>(keys[0], keys[1], whole, shared);
      store_key_rows(block, whole, warp);
      trade_columns<kAtOnce>(values[0], values[1], whole, shared);
      store_value_rows(block, whole, warp);
    } else {
      trade_columns<kAtOnce>(keys[0], values[0], whole, shared);
      warp == 0 ? store_key_rows(block, whole, 0) : store_value_rows(block, whole, 0);
    }
  } else if constexpr (Block::kKeySide) {
#pragma unroll
    for (int r = 0; r < Shape::kRowTiles; ++r) {
      if constexpr (Block::kFirst) store_key_rows(block, block.first_sums[r], r);
      if constexpr (Block::kSecond) store_value_rows(block, block.second_sums[r], r);
    }
  } else {
    const QueryPlace place{block.block_index, block.sequence.batch, block.head,         block.sequence.first_query,
                           block.first_owned, block.first_row,      block.rules.queries};
    lead_back_queries<Shape::kThreads>(block.first_sums[0], block.p.query_chain, place, block.owned(0),
                                       reinterpret_cast<float*>(block.memory.owned[1]));
    store_rows<typename Block::Stored>(block.first_sums[0],
                                       {block.p.grad_q, block.sequence.batch, block.head, block.sequence.first_query},
                                       block.first_row, block.rules.queries);
  }
}

}  // namespace quest::kernels::cuda::portable
