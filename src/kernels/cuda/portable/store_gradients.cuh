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
  if (p.repeats_keys) {  // what the second half of the queries gave
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

// dQ of this warp's rows.
template <typename Block, int kBlocks>
__device__ void store_query_rows(Block& block, Accumulator (&sums)[kBlocks]) {
  const auto& p = block.p;
  const QueryPlace place{.block = block.block_index,
                         .batch = block.sequence.batch,
                         .head = block.head,
                         .first_query = block.sequence.first_query,
                         .first_owned = block.first_owned,
                         .first_row = block.first_row,
                         .end = block.rules.queries,
                         .counts = block.warp_of_pair() == 0};
  lead_back_queries<Block::Shape::kThreads>(sums, p.query_chain, place, block.owned(0),
                                            reinterpret_cast<float*>(block.memory.owned[1]));
  if (!place.counts) return;
  store_rows<typename Block::Stored>(sums, {p.grad_q, place.batch, place.head, place.first_query}, place.first_row,
                                     place.end);
}

template <typename Block>
__device__ void store_gradients(Block& block) {
  using Shape = typename Block::Shape;
  auto& first = block.first_sums;
  auto& second = block.second_sums;
  if constexpr (Shape::kPair == 1) {
#pragma unroll
    for (int r = 0; r < Shape::kRowTiles; ++r) {
      if constexpr (Block::kKeySide) {
        store_key_rows(block, first[r], r);
        store_value_rows(block, second[r], r);
      } else {
        store_query_rows(block, first[r]);
      }
    }
  } else {
    const int warp = block.warp_of_pair();
    Accumulator whole[Shape::kSumColumns / 8 * 2];
    const auto trade = [&](const auto& of_first_warp, const auto& of_second_warp) {
      auto& room = block.memory.streamed_first;
      constexpr int kAtOnce = Shape::kSumColumns % 64 == 0 ? 8 : 6;
      static_assert(sizeof(room) >= sizeof(Accumulator) * kAtOnce * Shape::kThreads);
      trade_columns<kAtOnce>(of_first_warp, of_second_warp, whole, reinterpret_cast<Accumulator*>(room));
    };
    if constexpr (!Block::kKeySide) {
      trade(first[0], first[0]);
      store_query_rows(block, whole);
    } else if constexpr (Shape::kRowTiles == 1) {
      trade(first[0], second[0]);
      warp == 0 ? store_key_rows(block, whole, 0) : store_value_rows(block, whole, 0);
    } else {
      trade(first[0], first[1]);
      store_key_rows(block, whole, warp);
      trade(second[0], second[1]);
      store_value_rows(block, whole, warp);
    }
  }
}

}  // namespace quest::kernels::cuda::portable
