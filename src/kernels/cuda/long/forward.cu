// One producer warp brings tiles of queries, unit keys and values through rings in shared memory; two or three
// warpgroups own 64 rows each. While a warpgroup turns scores into weights, its product of the last weights with their
// values is under way, and the scores of the others.

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/single_rows.cuh"
#include "kernels/cuda/device/tensor_map.h"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/device/wgmma.cuh"
#include "kernels/cuda/long/forward_rows.cuh"
#include "kernels/cuda/long/forward_schedule.cuh"
#include "kernels/cuda/long/long.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::long_sequence {
namespace {

constexpr int kGroupThreads = 128;
constexpr int kFirstTurn = 4;  // of the named barriers; 1 + group is the group's own

template <typename Element, int kWidth, int kGroupCount>
struct ForwardShape {
  using T = Element;
  static constexpr int kDim = kWidth;
  static constexpr int kGroups = kGroupCount;
  static constexpr int kThreads = (kGroups + 1) * kGroupThreads;
  static constexpr int kRegisters = kGroups == 2 ? 240 : 160;  // of a thread that owns rows
  static constexpr int kQueries = 64 * kGroups;
  static constexpr int kKeys = 128;  // a multiple of 64 rows: then only a row's last tile hides any of its keys
  static constexpr int kQueryStages = kWidth == 64 ? 2 : 1;
  static constexpr int kStages = kWidth == 64 ? 5 : 3;
  // Narrow rows leave the tensor cores time for one more block of columns, ones, whose products are the sums.
  static constexpr bool kSumsByProduct = kWidth == 64;
  static constexpr int kCubicPeriod = kWidth == 128 ? 0 : 6;
  using QueryPanel = Panel<kQueries, kWidth>;
  using KeyPanel = Panel<kKeys, kWidth>;
};

// Where things are in shared memory.
template <typename Shape>
struct Shared {
  static constexpr int kKeysAt = Shape::kQueryStages * Shape::QueryPanel::kBytes;
  static constexpr int kValuesAt = kKeysAt + Shape::kStages * Shape::KeyPanel::kBytes;
  static constexpr int kOnesAt = kValuesAt + Shape::kStages * Shape::KeyPanel::kBytes;
  static constexpr int kOnesBytes = Shape::kSumsByProduct ? 16 * 128 : 0;
  static constexpr int kBarriersAt = kOnesAt + kOnesBytes;
  static constexpr int kRingBarriers = 4 * Shape::kStages;
  static constexpr int kBytes = kBarriersAt + 8 * (kRingBarriers + 2 * Shape::kQueryStages);

  uint32_t base;

  __device__ typename Shape::QueryPanel queries(int stage) const { return {base + stage * Shape::QueryPanel::kBytes}; }
  __device__ typename Shape::KeyPanel keys(int stage) const {
    return {base + kKeysAt + stage * Shape::KeyPanel::kBytes};
  }
  __device__ typename Shape::KeyPanel values(int stage) const {
    return {base + kValuesAt + stage * Shape::KeyPanel::kBytes};
  }
  __device__ uint32_t ones() const { return base + kOnesAt; }
  __device__ uint32_t barrier(int kind, int stage) const {
    return base + kBarriersAt + 8 * (kind * Shape::kStages + stage);
  }
  __device__ uint32_t key_full(int stage) const { return barrier(0, stage); }
  __device__ uint32_t key_empty(int stage) const { return barrier(1, stage); }
  __device__ uint32_t value_full(int stage) const { return barrier(2, stage); }
  __device__ uint32_t value_empty(int stage) const { return barrier(3, stage); }
  __device__ uint32_t query_full(int stage) const { return barrier(4, stage); }
  __device__ uint32_t query_empty(int stage) const { return barrier(4, Shape::kQueryStages + stage); }
};

template <int kCount>
struct Ring {
  int stage = 0;
  int parity = 0;

  __device__ void advance() {
    if (++stage == kCount) {
      stage = 0;
      parity ^= 1;
    }
  }
};

template <typename AnyPanel>
__device__ void load_panel(AnyPanel panel, const CUtensorMap& map, int first_row, int head, int batch,
                           uint32_t barrier) {
  expect_bytes(barrier, AnyPanel::kBytes);
#pragma unroll
  for (int block = 0; block < AnyPanel::kColumns / 64; ++block)
    load_box(panel.block(block), map, 64 * block, first_row, head, batch, barrier);
}

template <typename Shape>
__device__ void produce(Shared<Shape> shared, const ForwardTask& task, const CUtensorMap& queries,
                        const CUtensorMap& keys, const CUtensorMap& values) {
  Ring<Shape::kQueryStages> query;
  Ring<Shape::kStages> at;
  wait_for_previous();  // it writes the keys
  for_each_row_block<Shape::kQueries>(task, [&](const RowBlock& rows) {
    wait_barrier(shared.query_empty(query.stage), query.parity ^ 1);
    load_panel(shared.queries(query.stage), queries, rows.first_row, rows.head, rows.batch,
               shared.query_full(query.stage));
    query.advance();
    const int key_head = rows.head / task.heads_per_key_head;
#pragma unroll 1
    for (int tile = tile_count<Shape::kKeys>(task, rows.first_row, Shape::kQueries) - 1; tile >= 0; --tile) {
      wait_barrier(shared.key_empty(at.stage), at.parity ^ 1);
      load_panel(shared.keys(at.stage), keys, tile * Shape::kKeys, key_head, rows.batch, shared.key_full(at.stage));
      wait_barrier(shared.value_empty(at.stage), at.parity ^ 1);
      load_panel(shared.values(at.stage), values, tile * Shape::kKeys, key_head, rows.batch,
                 shared.value_full(at.stage));
      at.advance();
    }
  });
}

// A warpgroup, its place in the ring and the 64 rows it has at hand.
template <typename Shape>
struct Consumer {
  using T = typename Shape::T;
  using Scores = Accumulator[Shape::kKeys / 8];
  using Weights = Fragment[Shape::kKeys / 16];
  using Rows = Accumulator[Shape::kDim / 8];
  using RowsAndSums = Accumulator[Shape::kDim / 8 + 1];
  using Position = Ring<Shape::kStages>;

  Shared<Shape> shared;
  const ForwardTask& task;
  int group;
  Position at;
  Ring<Shape::kQueryStages> query;

  bool spoiled = false;  // a row of this thread's so far
  int first_row;         // of the warpgroup
  int tiles;             // of keys it sees, taken from the last to the first

  __device__ int row() const { return first_row + warp_id() % 4 * 16 + lane_row(); }

  __device__ void release(uint32_t barrier) const { arrive_unless(threadIdx.x % kGroupThreads != 0, barrier); }

  __device__ void start_scores(Scores& s) {
    wait_barrier(shared.key_full(at.stage), at.parity);
    const auto q = shared.queries(query.stage);
    const auto k = shared.keys(at.stage);
    pin(s);
    open_products();
#pragma unroll
    for (int step = 0; step < Shape::kDim / 16; ++step)
      multiply<T>(s, sum_columns(q, 64 * group, step), sum_columns(k, 0, step), step > 0);
    commit_products();
  }

  template <typename AnyRows>
  __device__ void start_rows(AnyRows& out, Weights& weights, Position tile) {
    wait_barrier(shared.value_full(tile.stage), tile.parity);
    const auto v = shared.values(tile.stage);
    pin(weights);
    pin(out);
    open_products();
#pragma unroll
    for (int step = 0; step < Shape::kKeys / 16; ++step) {
      if constexpr (std::is_same_v<AnyRows, Rows>) {
        multiply<T>(out, weights[step], sum_rows(v, 16 * step), true);
      } else {
        multiply<T>(out, weights[step], sum_rows_beside(v, 16 * step, shared.ones()), true);
      }
    }
    commit_products();
  }

  // How many columns of the tile, from the thread's first on, each of its rows sees; whether that is not simply all.
  __device__ bool hides(int tile, int (&visible)[2]) const {
    const int first_key = tile * Shape::kKeys;
    visible[0] = (task.causal ? min(task.keys, row() + 1) : task.keys) - first_key - lane_column();
    visible[1] = (task.causal ? min(task.keys, row() + 9) : task.keys) - first_key - lane_column();
    return (task.causal ? min(task.keys, first_row + 1) : task.keys) < first_key + Shape::kKeys;
  }

  __device__ void finish_scores(int tile, Scores& s) const {
    pin(s);
    release(shared.key_empty(at.stage));
    if (tile == 0) release(shared.query_empty(query.stage));
  }

  template <typename AnyRows>
  __device__ void finish_rows(AnyRows& out, Weights& weights, Position tile) const {
    wait_products();
    pin(weights);
    pin(out);
    release(shared.value_empty(tile.stage));
  }

  // Warpgroups start their products in turn, once for every tile of the block, so that one has the tensor cores while
  // another computes weights.
  __device__ void wait_turn() const { meet(kFirstTurn + group, 2 * kGroupThreads); }
  __device__ void pass_turn() const {
    announce(kFirstTurn + (group + 1 == Shape::kGroups ? 0 : group + 1), 2 * kGroupThreads);
  }

  // Tiles that only other warpgroups see.
  __device__ void skip(int count) {
    for (; count > 0; --count) {
      wait_turn();
      pass_turn();
      wait_barrier(shared.key_full(at.stage), at.parity);
      wait_barrier(shared.value_full(at.stage), at.parity);
      meet(1 + group, kGroupThreads);  // or a slow warp would miss the tile's turn in the ring
      release(shared.key_empty(at.stage));
      release(shared.value_empty(at.stage));
      at.advance();
    }
  }

  // From here on s holds the finished scores of the last tile when called.
  template <typename AnyRows>
  __device__ void sum_within_bound(Scores& s, AnyRows& out, RowPair& sums, const RowPair& offsets) {
    constexpr bool kAdd = std::is_same_v<AnyRows, Rows>;
    Weights weights;
    exponentiate<Shape::kCubicPeriod>(s, task.factor, offsets);
    if (int visible[2]; hides(tiles - 1, visible)) hide(s, visible, 0.0f);
    round_weights<T>(s, weights);
#pragma unroll 1
    for (int tile = tiles - 2; tile >= 0; --tile) {
      const Position last = at;
      at.advance();
      wait_turn();
      start_scores(s);
      start_rows(out, weights, last);
      pass_turn();
      if constexpr (kAdd) add_weights<T>(weights, sums);
      wait_products<1>();
      finish_scores(tile, s);
      exponentiate<Shape::kCubicPeriod>(s, task.factor, offsets);
      finish_rows(out, weights, last);
      round_weights<T>(s, weights);
    }
    start_rows(out, weights, at);
    if constexpr (kAdd) add_weights<T>(weights, sums);
    finish_rows(out, weights, at);
    at.advance();
  }

  // Sums complete in every lane.
  __device__ void take_within_bound(Scores& s, Rows& out, RowPair& sums, const RowPair& offsets) {
    if constexpr (Shape::kSumsByProduct) {
      RowsAndSums with_sums{};
      sum_within_bound(s, with_sums, sums, offsets);
#pragma unroll
      for (int block = 0; block < Shape::kDim / 8; ++block) out[block] = with_sums[block];
      sums = {{with_sums[Shape::kDim / 8].x[0], with_sums[Shape::kDim / 8].x[2]}};
    } else {
      sum_within_bound(s, out, sums, offsets);
      sums = {{quad_sum(sums.x[0]), quad_sum(sums.x[1])}};
    }
  }

  // Any scores: weights are taken relative to the largest score so far, which ends up in `largest`.
  __device__ void sum_with_maximum(Scores& s, Rows& out, RowPair& sums, RowPair& largest) {
#pragma unroll 1
    for (int tile = tiles - 1;; --tile) {
      Weights weights;
#pragma unroll
      for (Accumulator& block : s)
#pragma unroll
        for (float& x : block.x) x *= task.factor;
      if (int visible[2]; hides(tile, visible)) hide(s, visible, -INFINITY);
      rescale(s, out, sums, largest);
      exponentiate<0>(s, 1.0f, RowPair{{finite(largest.x[0]), finite(largest.x[1])}});
      round_weights<T>(s, weights);
      add_weights<T>(weights, sums);
      start_rows(out, weights, at);
      finish_rows(out, weights, at);
      at.advance();
      if (tile == 0) break;
      wait_turn();
      start_scores(s);
      pass_turn();
      wait_products();
      finish_scores(tile - 1, s);
    }
    sums = {{quad_sum(sums.x[0]), quad_sum(sums.x[1])}};
  }

  __device__ static float finite(float largest) { return largest == -INFINITY ? 0.0f : largest; }

  __device__ static void rescale(const Scores& s, Rows& out, RowPair& sums, RowPair& largest) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      float seen = largest.x[half];
#pragma unroll
      for (const Accumulator& block : s) seen = fmaxf(seen, fmaxf(block.x[2 * half], block.x[2 * half + 1]));
      seen = quad_max(seen);
      const float shrink = exp2_fast(largest.x[half] - finite(seen));
      largest.x[half] = seen;
      sums.x[half] *= shrink;
#pragma unroll
      for (Accumulator& block : out) {
        block.x[2 * half] *= shrink;
        block.x[2 * half + 1] *= shrink;
      }
    }
  }

  __device__ void take(const RowBlock& rows) {
    first_row = rows.first_row + 64 * group;
    tiles = tile_count<Shape::kKeys>(task, first_row, 64);
    skip(tile_count<Shape::kKeys>(task, rows.first_row, Shape::kQueries) - tiles);

    wait_barrier(shared.query_full(query.stage), query.parity);
    Rows out{};
    RowPair offsets{}, sums{};
    if (tiles == 0) {
      meet(1 + group, kGroupThreads);  // as in skip()
      release(shared.query_empty(query.stage));
    } else {
      Scores s;
      wait_turn();
      start_scores(s);
      pass_turn();
      const bool with_maximum = __any_sync(0xffffffffu, meet_any(1 + group, kGroupThreads, !bound_exponents(offsets)));
      wait_products();
      finish_scores(tiles - 1, s);
      if (with_maximum) {
        offsets = {{-INFINITY, -INFINITY}};
        sum_with_maximum(s, out, sums, offsets);
      } else {
        take_within_bound(s, out, sums, offsets);
      }
    }
    query.advance();
    finish(rows, out, sums, offsets);
  }

  // Whether the thread's rows need no running maximum, and what to subtract from their exponents then.
  __device__ bool bound_exponents(RowPair& offsets) const {
    const RowPair norms = query_norms<T>(shared.queries(query.stage), 64 * group + warp_id() % 4 * 16);
    const RowPair bounds{{norms.x[0] * fabsf(task.factor), norms.x[1] * fabsf(task.factor)}};
    offsets.x[0] = fmaxf(0.0f, bounds.x[0] - WeightRange<T>::kFree);
    offsets.x[1] = fmaxf(0.0f, bounds.x[1] - WeightRange<T>::kFree);
    return bounds.x[0] <= task.limit && bounds.x[1] <= task.limit;
  }

  // Rows beside a hidden value that is not finite, when all are stored: in the loop this would cost registers.
  __device__ void mend(const RowBlock& rows) const {
    const int key_head = rows.head / task.heads_per_key_head;
    const SingleRows<T> single{rows_of<const T>(task.q, rows.batch, rows.head, task.dim),
                               rows_of<const T>(task.k, rows.batch, key_head, task.dim),
                               rows_of<const T>(task.v, rows.batch, key_head, task.value_dim), task.keys, task.scale};
    const Output to{task.out, task.out_batch_stride, task.out_head_stride, task.out_row_stride};
    const auto out = rows_of<T>(to, rows.batch, rows.head, task.value_dim);
    const int first = rows.first_row + 64 * group + warp_id() % 4 * 16;
    for (int row = first; row < min(first + 16, task.queries); ++row) {
      if (!out[row].is_finite()) out.store(row, single.output(row));
    }
  }

  __device__ void finish(const RowBlock& rows, const Rows& out, const RowPair& sums, const RowPair& offsets) {
    store_rows(out, sums,
               static_cast<T*>(task.out) + rows.batch * task.out_batch_stride + rows.head * task.out_head_stride,
               task.out_row_stride, row(), task.queries, task.value_dim);
    if (task.causal) spoiled |= is_spoiled(out);
    if (lane_id() % 4 != 0) return;
    float* lse = task.lse + (static_cast<std::int64_t>(rows.batch) * task.heads + rows.head) * task.queries;
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (row() + 8 * half < task.queries) lse[row() + 8 * half] = kLn2 * (log2f(sums.x[half]) + offsets.x[half]);
  }
};

template <typename Shape>
__device__ void prepare_shared(Shared<Shape> shared) {
  if (threadIdx.x == 0) {
    for (int stage = 0; stage < Shape::kStages; ++stage) {
      initialize_barrier(shared.key_full(stage), 1);
      initialize_barrier(shared.key_empty(stage), Shape::kGroups);
      initialize_barrier(shared.value_full(stage), 1);
      initialize_barrier(shared.value_empty(stage), Shape::kGroups);
    }
    for (int stage = 0; stage < Shape::kQueryStages; ++stage) {
      initialize_barrier(shared.query_full(stage), 1);
      initialize_barrier(shared.query_empty(stage), Shape::kGroups);
    }
    publish_barriers();
  }
  for (int byte = 4 * threadIdx.x; byte < Shared<Shape>::kOnesBytes; byte += 4 * Shape::kThreads)
    asm volatile("st.shared.u32 [%0], %1;" ::"r"(shared.ones() + byte), "r"(Element<typename Shape::T>::kOnes));
  order_with_engines();
  __syncthreads();
}

template <typename Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    attend(const ForwardTask task, const __grid_constant__ CUtensorMap queries,
           const __grid_constant__ CUtensorMap keys, const __grid_constant__ CUtensorMap values) {
  extern __shared__ __align__(1024) uint8_t memory[];
  // Shuffled, so that the address is kept in a register rather than computed again at every use.
  const Shared<Shape> shared{
      __shfl_sync(0xffffffffu, (static_cast<uint32_t>(__cvta_generic_to_shared(memory)) + 1023) & ~1023u, 0)};
  prepare_shared(shared);

  const int group = __shfl_sync(0xffffffffu, threadIdx.x / kGroupThreads, 0);
  if (group == Shape::kGroups) {
    keep_registers<24>();
    if (threadIdx.x == Shape::kGroups * kGroupThreads) produce(shared, task, queries, keys, values);
  } else {
    take_registers<Shape::kRegisters>();
    Consumer<Shape> consumer{shared, task, group};
    if (group == Shape::kGroups - 1) consumer.pass_turn();
    for_each_row_block<Shape::kQueries>(task, [&](const RowBlock& rows) { consumer.take(rows); });
    if (!__any_sync(0xffffffffu, consumer.spoiled)) return;
    __syncwarp();
    for_each_row_block<Shape::kQueries>(task, [&](const RowBlock& rows) { consumer.mend(rows); });
  }
}

template <typename Shape>
cudaError_t run(const RemainingProblem& prepared, const ForwardOutputs& outputs, const Launch& launch) {
  const AttentionProblem& p = prepared.problem;
  if (p.batch * p.heads * p.queries == 0) return cudaSuccess;
  const bool unit_keys = prepared.key_reciprocals != nullptr;
  ForwardTask task{.heads = static_cast<int>(p.heads),
                   .heads_per_key_head = static_cast<int>(p.heads / p.kv_heads),
                   .queries = static_cast<int>(p.queries),
                   .keys = static_cast<int>(p.keys),
                   .value_dim = static_cast<int>(p.value_dim),
                   .causal = p.causal != Causal::none,  // with as many queries as keys both kinds are one
                   .factor = p.scale * kLog2E,
                   .limit = unit_keys ? WeightRange<typename Shape::T>::kLimit : -1.0f,
                   .row_blocks = static_cast<int>((p.queries + Shape::kQueries - 1) / Shape::kQueries),
                   .out = outputs.out.data,
                   .out_batch_stride = outputs.out.batch_stride,
                   .out_head_stride = outputs.out.head_stride,
                   .out_row_stride = outputs.out.row_stride,
                   .lse = outputs.lse,
                   .q = p.q,
                   .k = p.k,
                   .v = p.v,
                   .dim = static_cast<int>(p.dim),
                   .scale = p.scale};
  task.items = static_cast<int>(p.batch * p.heads) * (task.causal ? (task.row_blocks + 1) / 2 : task.row_blocks);

  CUtensorMap queries, keys, values;
  const bool mapped =
      make_tensor_map(queries, p.q, p.type, p.batch, p.heads, p.queries, p.dim, Shape::kQueries) == CUDA_SUCCESS &&
      make_tensor_map(keys, p.k, p.type, p.batch, p.kv_heads, p.keys, p.dim, Shape::kKeys) == CUDA_SUCCESS &&
      make_tensor_map(values, p.v, p.type, p.batch, p.kv_heads, p.keys, p.value_dim, Shape::kKeys) == CUDA_SUCCESS;
  if (!mapped) return cudaErrorInvalidValue;

  constexpr int kBytes = Shared<Shape>::kBytes + 1024;
  const cudaError_t allowed = cudaFuncSetAttribute(attend<Shape>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes);
  if (allowed != cudaSuccess) return allowed;
  return launch_overlapping(attend<Shape>, std::min(task.items, launch.device.multiprocessors), Shape::kThreads, kBytes,
                            launch.stream, task, queries, keys, values);
}

// Three warpgroups keep a multiprocessor busier than two, by about a seventh, where their larger blocks of rows do not
// leave more of the last round idle.
bool prefers_three_groups(const AttentionProblem& p, int multiprocessors) {
  const auto rounds = [&](std::int64_t groups) {
    const std::int64_t row_blocks = ceil_div(p.queries, 64 * groups);
    const std::int64_t items = p.batch * p.heads * (p.causal == Causal::none ? row_blocks : ceil_div(row_blocks, 2));
    return groups * ceil_div(items, multiprocessors);
  };
  return 6 * rounds(3) <= 7 * rounds(2);
}

template <typename T>
cudaError_t run_type(const KernelRow& row, const RemainingProblem& prepared, const ForwardOutputs& outputs,
                     const Launch& launch) {
  if (row.compiled_dim() == 128) return run<ForwardShape<T, 128, 2>>(prepared, outputs, launch);
  return prefers_three_groups(prepared.problem, launch.device.multiprocessors)
             ? run<ForwardShape<T, 64, 3>>(prepared, outputs, launch)
             : run<ForwardShape<T, 64, 2>>(prepared, outputs, launch);
}

}  // namespace

cudaError_t forward(const KernelRow& row, const RemainingProblem& prepared, const ForwardOutputs& outputs,
                    const Launch& launch) {
  return prepared.problem.type == StorageType::bfloat16 ? run_type<__nv_bfloat16>(row, prepared, outputs, launch)
                                                        : run_type<__half>(row, prepared, outputs, launch);
}

}  // namespace quest::kernels::cuda::long_sequence
