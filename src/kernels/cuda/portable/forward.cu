// Forward: a block owns a tile of queries of one head and meets one tile of keys after the other. Unit keys bound a
// row's logits by ‖q‖, and weights need no running maximum; where that bound says too little, or does not hold, the
// block begins again with one. What is common is compiled apart from all that is possible.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/clear_rows.cuh"
#include "kernels/cuda/portable/forward_tiles.cuh"
#include "kernels/cuda/portable/portable.h"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/shared_tile.cuh"
#include "kernels/cuda/portable/store.cuh"

namespace quest::kernels::cuda::portable {
namespace {

template <typename T, int kWidth, Extras kExtras>
struct ForwardBlock {
  using Shape = ForwardShape<T, kWidth, kExtras>;
  using Memory = ForwardMemory<Shape>;
  using QueryTile = typename Shape::QueryTile;
  using KeyTile = typename Shape::KeyTile;
  static constexpr int kRowTiles = Shape::kRowTiles;
  static constexpr int kKeys = Shape::kKeys;

  const ForwardParameters& p;
  Memory& memory;
  Sequence sequence;
  int head;
  int kv_head;
  ScoreRules rules;
  Rows<T> keys;
  Rows<T> values;
  int first_query;
  int first_row;  // of this warp
  LeftRows<T, kWidth, kRowTiles, Shape::kHeld> left;
  RunningRows<kRowTiles> running;
  Accumulator out[kRowTiles][kWidth / 8];
  bool guarded = false;

  __device__ ForwardBlock(const ForwardParameters& parameters, Memory& shared, const Place& place)
      : p(parameters),
        memory(shared),
        sequence(p.problem, place.sequence),
        head(place.head),
        kv_head(head / static_cast<int>(p.problem.heads / p.problem.kv_heads)),
        rules(p.problem, sequence, p.mask_bits),
        keys(p.k, sequence.batch, kv_head, sequence.first_key),
        values(p.v, sequence.batch, kv_head, sequence.first_key),
        first_query(place.tile * Shape::kQueries),
        first_row(first_query + warp_id() * kRowTiles * 16) {
    rules.select_head(p.problem, p.mask_bits, sequence, head);
  }

  __device__ static int turn_of(int first_key) { return first_key / kKeys % Shape::kStages; }
  __device__ KeyTile key_tile(int first_key) const { return {shared_address(memory.keys[turn_of(first_key)])}; }
  __device__ KeyTile value_tile(int first_key) const { return {shared_address(memory.values[turn_of(first_key)])}; }
  __device__ const float* key_factors(int first_key) const { return memory.key_factors[turn_of(first_key)]; }
  __device__ auto mask_tile() const { return typename Shape::MaskTile{shared_address(memory.mask)}; }
  using LoadedMask = Accumulator[Shape::kLoadedBlocks];
  // Of the warp's one row tile, before the products whose time it takes to arrive.
  __device__ void load_mask(LoadedMask& biases, int first_key) const {
    if constexpr (Shape::kLoadsMask) {
      static_assert(kRowTiles == 1);
      if (is_additive(rules.mask_type)) rules.template load_mask<Along::queries>(biases, first_row, first_key);
    }
  }
  __device__ void apply_rules(Accumulator (&scores)[kKeys / 8], int row, int first_key,
                              const LoadedMask& biases) const {
    if (!Shape::kBiased || !is_additive(rules.mask_type)) {
      rules.template apply<Along::queries>(scores, row, first_key);
    } else if constexpr (Shape::kStagesMask) {
      rules.template apply_additive<Along::queries, T>(scores, row, first_key, scales(), staged_mask(row), guarded);
    } else if constexpr (Shape::kLoadsMask) {
      rules.template apply_loaded<Along::queries>(scores, row, first_key, scales(), biases, guarded);
    }
  }
  // The same for a mask of T, before the factors of the keys.
  __device__ void add_mask(Accumulator (&scores)[kKeys / 8], int row, int first_key) const {
    const float* factors = key_factors(first_key) + lane_column();
    const auto scale = [&](int /*half*/, int block, int odd) { return factors[block * 8 + odd] * rules.scale; };
    rules.template add_staged<T>(scores, scale, staged_mask(row), false);
    rules.template hide<Along::queries>(scores, row, first_key, -kInfinity);
  }
  __device__ auto staged_mask(int row) const {
    return [this, row](int step) { return TileMma<T>::load_left(mask_tile(), row - first_query, step); };
  }

  __device__ RowScales scales() const { return {{rules.scale, rules.scale}}; }
  __device__ bool drops() const { return (kExtras == Extras::dropout || Shape::kBiased) && p.problem.dropout_p > 0; }

  __device__ void stage_queries() {
    const Rows<T> queries(p.q, sequence.batch, head, sequence.first_query);
    stage<Shape::kThreads>(QueryTile{shared_address(memory.queries)}, queries, first_query, rules.queries);
    if (p.query_factors != nullptr) {
      const float* factors =
          p.query_factors + dense_row(sequence.batch, p.problem.heads, head, p.problem.queries, sequence.first_query);
      stage<Shape::kThreads>(memory.query_factors, factors, first_query, rules.queries);
    }
    if (!drops()) return;
    for (int row = threadIdx.x; row < Shape::kQueries; row += Shape::kThreads) {
      memory.dropout[row] = dropout_keys(DropoutRow(p.problem.dropout_seed, sequence.index, head, first_query + row));
    }
  }
  __device__ void stage_keys(int first_key) {
    stage<Shape::kThreads>(key_tile(first_key), keys, first_key, rules.keys);
    commit_copies();
  }
  // And the factors of the keys, which scores need no sooner.
  __device__ void stage_values(int first_key) {
    stage<Shape::kThreads>(value_tile(first_key), values, first_key, rules.keys);
    if (p.key_factors != nullptr) {
      const float* factors =
          p.key_factors + dense_row(sequence.batch, p.problem.kv_heads, kv_head, p.problem.keys, sequence.first_key);
      stage<Shape::kThreads>(memory.key_factors[turn_of(first_key)], factors, first_key, rules.keys);
    }
    commit_copies();
  }
  __device__ bool stages_mask() const { return Shape::kStagesMask && is_additive_16bit(rules.mask_type); }
  // What this warp needs; no other waits for it.
  __device__ void stage_mask(int first_key) {
    if constexpr (Shape::kStagesMask) {
      if (!stages_mask() || first_key >= rules.keys) return;
      copy_mask<kRowTiles * 16, Shape::MaskTile::kChunks>(mask_tile(), first_row - first_query, 0, rules, first_row,
                                                          first_key);
      commit_copies();
    }
  }

  __device__ void drop(Accumulator (&weights)[kKeys / 8], int row, int first_key) {
    const DropoutFactors factors(p.problem.dropout_p);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const DropoutKeys draws = memory.dropout[row - first_query + half * 8 + lane_row()];
#pragma unroll
      for (int i = 0; i < kKeys / 8; ++i) {
        const uint32_t pair = draw_pair(draws, first_key / 2 + i / 2 * 8 + lane_column() + i % 2);
#pragma unroll
        for (int second = 0; second < 2; ++second) {
          if (!factors.keeps(pair, second != 0)) weights[i / 2 * 2 + second].x[half * 2 + i % 2] = 0;
        }
      }
    }
  }
  // Weights of a value with something not finite become NaN unless they are zero.
  __device__ void spread_nonfinite(Accumulator (&weights)[kKeys / 8], int row, int first_key) {
    visit<Along::queries>(weights, row, first_key, [&](int, int key, float& x) {
      if (x != 0 && memory.nonfinite[key - first_key]) x = CUDART_NAN_F;
    });
  }

  template <ForwardPass kPass>
  __device__ void softmax(Accumulator (&scores)[kRowTiles][kKeys / 8], Weights<T, kKeys> (&weights)[kRowTiles],
                          int first_key, const LoadedMask& biases) {
    constexpr bool kBiased = kPass == ForwardPass::biased;
    const float unit = kBiased ? kLog2E : rules.unit();
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      if (p.query_factors != nullptr) scale_rows(scores[r], memory.query_factors + first_row - first_query + r * 16);
      if constexpr (kBiased) {
        add_mask(scores[r], first_row + r * 16, first_key);
      } else {
        if (p.key_factors != nullptr) scale_columns(scores[r], key_factors(first_key));
        apply_rules(scores[r], first_row + r * 16, first_key, biases);
      }
      if (r == kRowTiles - 1) {
        __syncwarp();
        stage_mask(first_key + kKeys);
      }
      running.raise(r, scores[r], out[r], unit);
      if (kBiased || (Shape::kBiased && is_additive(rules.mask_type))) {
        weigh(scores[r], r, [&](float x, float most) { return (x - most) * kLog2E; });
      } else {
        weigh(scores[r], r, [&](float x, float most) { return fmaf(x, unit, -(most * unit)); });
      }
      weights[r] = Weights<T, kKeys>(scores[r]);
#pragma unroll
      for (int step = 0; step < weights[r].kSteps; ++step) {
        TileMma<T>::add_sums(running.sum[r], weights[r].steps[step]);
      }
      if (!kBiased && (guarded || drops())) {
        if (drops()) drop(scores[r], first_row + r * 16, first_key);
        if (guarded) spread_nonfinite(scores[r], first_row + r * 16, first_key);
        weights[r] = Weights<T, kKeys>(scores[r]);
      }
    }
  }

  template <typename Exponent>
  __device__ void weigh(Accumulator (&scores)[kKeys / 8], int r, Exponent exponent) {
    const float most[2] = {running.finite_most(r, 0), running.finite_most(r, 1)};
#pragma unroll
    for (int i = 0; i < kKeys / 2; ++i) {
      float& x = scores[i / 4].x[i % 4];
      x = exp2_fast(exponent(x, most[i % 4 / 2]));
    }
  }

  // The same from bounds, which stand in `running`.
  template <ForwardPass kPass>
  __device__ void softmax_of_bounded(Accumulator (&scores)[kRowTiles][kKeys / 8],
                                     Weights<T, kKeys> (&weights)[kRowTiles], int first_key) {
    if (p.query_factors != nullptr) {
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        scale_rows(scores[r], memory.query_factors + first_row - first_query + r * 16);
      }
    }
#pragma unroll
    for (int block = 0; block < kKeys / 8; ++block) {
      float2 factors = *reinterpret_cast<const float2*>(key_factors(first_key) + block * 8 + lane_column());
      factors.x *= rules.scale;
      factors.y *= rules.scale;
#pragma unroll
      for (int i = 0; i < kRowTiles * 4; ++i) {
        float& x = scores[i / 4][block].x[i % 4];
        x = exp2_fast(fmaf(x, i % 2 == 0 ? factors.x : factors.y, -running.most[i / 4][i % 4 / 2]));
      }
    }
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      if constexpr (kPass == ForwardPass::masked) {
        rules.template hide_by_bits<Along::queries>(scores[r], first_row + r * 16, first_key, 0.0f);
      }
      rules.template hide<Along::queries>(scores[r], first_row + r * 16, first_key, 0.0f);
      weights[r] = Weights<T, kKeys>(scores[r]);
#pragma unroll
      for (int step = 0; step < weights[r].kSteps; ++step) {
        TileMma<T>::add_sums(running.sum[r], weights[r].steps[step]);
      }
      if (!drops()) continue;
      drop(scores[r], first_row + r * 16, first_key);
      weights[r] = Weights<T, kKeys>(scores[r]);
    }
  }

  __device__ uint64_t seen_bits(int first_key) const {
    return rules.template bits_of_rows<Along::queries, kRowTiles * 16, kKeys>(first_row, first_key);
  }

  template <ForwardPass kPass>
  __device__ void meet_keys() {
    constexpr bool kBounded = kPass == ForwardPass::bounded || kPass == ForwardPass::masked;
    if constexpr (!kBounded) running = {};
    clear(out);
    const int last_row = min(first_row + kRowTiles * 16, rules.queries) - 1;
    const int warp_keys = first_row < rules.queries ? rules.limit(last_row) : 0;
    const int block_keys = rules.limit(min(first_query + Shape::kQueries, rules.queries) - 1);
    left.take(QueryTile{shared_address(memory.queries)}, first_row - first_query);
    constexpr bool kLooks = kPass == ForwardPass::masked || kPass == ForwardPass::any;
    uint64_t bits = kLooks && warp_keys > 0 ? seen_bits(0) : 0;  // fetched a tile ahead, not to wait for them
#pragma unroll 1
    for (int first_key = 0; first_key < block_keys; first_key += kKeys) {
      const int next_key = first_key + kKeys;
      wait_copies();
      __syncthreads();
      if (Shape::kStages == 1) {
        stage_values(first_key);
      } else if (next_key < block_keys) {
        stage_keys(next_key);
        stage_values(next_key);
      }
      Accumulator scores[kRowTiles][kKeys / 8] = {};
      const bool sees = first_key < warp_keys && (!kLooks || __any_sync(0xffffffffu, bits != 0));
      if (kLooks && next_key < warp_keys) bits = seen_bits(next_key);
      LoadedMask biases;
      if (sees) {
        load_mask(biases, first_key);
        multiply_rows<QueryTile>(scores, left, key_tile(first_key));
      }
      if (Shape::kStages == 1) {
        wait_copies();
        __syncthreads();
        if (next_key < block_keys) stage_keys(next_key);
      }
      if (kPass == ForwardPass::any && guarded) {
        clear_nonfinite<Shape::kThreads>(value_tile(first_key), memory.nonfinite);
      }
      if (sees) {
        Weights<T, kKeys> weights[kRowTiles];
        if constexpr (kBounded) {
          softmax_of_bounded<kPass>(scores, weights, first_key);
        } else {
          softmax<kPass>(scores, weights, first_key, biases);
        }
        multiply_weights<T>(out, weights, value_tile(first_key));
      }
    }
    __syncthreads();
  }

  // Puts what is to be taken from the logits of each row into `running`. Not where a row's bound is too large.
  __device__ bool take_bounds() {
    if (p.key_factors == nullptr || rules.scale <= 0) return false;
    if (rules.mask_type != MaskType::none && !Shape::kMasksBounded) return false;
    if (rules.keys == 1) return false;  // the weight of a single key is exactly one from its maximum
    const QueryTile tile{shared_address(memory.queries)};
    const int row = first_row - first_query + lane_id() % (kRowTiles * 16);
    uint32_t squares[2] = {};
#pragma unroll
    for (int chunk = 0; chunk < QueryTile::kChunks; ++chunk) {
      const uint4 x = load_chunk(tile.chunk_address(row, chunk));
      squares[0] = add_squares_coarsely<T>(squares[0], x.x);
      squares[1] = add_squares_coarsely<T>(squares[1], x.y);
      squares[0] = add_squares_coarsely<T>(squares[0], x.z);
      squares[1] = add_squares_coarsely<T>(squares[1], x.w);
    }
    const float sum =
        low_half<T>(squares[0]) + high_half<T>(squares[0]) + low_half<T>(squares[1]) + high_half<T>(squares[1]);
    constexpr float kSlack = 1.06f;
    const float factor = p.query_factors != nullptr ? fabsf(memory.query_factors[row]) : 1.0f;
    const float bound = kSlack * sqrtf(sum) * factor * rules.scale;
    if (__syncthreads_or(!(bound <= BoundedWeights<T>::kLargest))) return false;
    running = {};
#pragma unroll
    for (int i = 0; i < kRowTiles * 2; ++i) {
      const float of_row = __shfl_sync(0xffffffffu, bound, i * 8 + lane_row());
      running.most[i / 2][i % 2] = fmaxf(0.0f, of_row - BoundedWeights<T>::kMost);
    }
    return true;
  }

  // Whether the weights of bounded logits were neither too small nor too large.
  __device__ bool resolved() const {
    bool all = all_finite(out);
#pragma unroll
    for (int i = 0; i < kRowTiles * 2; ++i) {
      const int row = first_row + i * 8 + lane_row();
      const int seen = row < rules.queries ? rules.limit(row) : 0;
      const float sum = running.sum[i / 2].x[i % 2 * 2];
      const bool hidden = Shape::kMasksBounded && rules.mask_type != MaskType::none && sum == 0 &&
                          running.most[i / 2][i % 2] <= BoundedWeights<T>::kMostWithoutZeros;
      all &= seen == 0 || hidden || BoundedWeights<T>::resolved(sum, seen);
    }
    return all;
  }

  __device__ void store_lse(int64_t at, float sum, float most) const {
    const float log_sum = logf(sum);
    const float lse = most + log_sum;
    p.lse[at] = sum == 0 ? -kInfinity : lse;
    if (Shape::kBiased && is_additive(rules.mask_type)) p.lse_low[at] = sum == 0 ? 0.0f : log_sum - (lse - most);
  }

  // `unit` makes natural logarithms of running.most.
  __device__ void store(float unit) {
    const OutputRows<T> to(p.out, sequence.batch, head, sequence.first_query);
    const int64_t at = dense_row(sequence.batch, p.problem.heads, head, p.problem.queries, sequence.first_query);
    const float kept = p.problem.dropout_p > 0 ? DropoutFactors(p.problem.dropout_p).kept : 1.0f;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      float factor[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = TileMma<T>::row_sum(running.sum[r].x[half * 2]);
        factor[half] = sum == 0 ? 0.0f : kept / sum;
        const int row = first_row + r * 16 + half * 8 + lane_row();
        if (row < rules.queries && lane_column() == 0) {
          store_lse(at + row, sum, running.most[r][half] * unit);
        }
      }
      scale_rows(out[r], factor[0], factor[1]);
      store_rows(out[r], to, first_row + r * 16, rules.queries);
    }
  }

  __device__ void stage_first_keys() {
    stage_mask(0);
    stage_keys(0);
    if (Shape::kStages > 1) stage_values(0);
    wait_copies();
    __syncthreads();
  }

  __device__ void run() {
    stage_queries();
    stage_first_keys();
    bool staged = true;
    const auto meet = [&]<ForwardPass kPass>() {
      if (!staged) stage_first_keys();
      meet_keys<kPass>();
      staged = false;
    };
    bool done = false;
    float unit = kLn2;
    if constexpr (Shape::kNarrow && !Shape::kBiased) {
      if (take_bounds()) {
        if constexpr (kExtras == Extras::boolean_mask) {
          meet.template operator()<ForwardPass::masked>();
        } else if constexpr (Shape::kMasksBounded) {
          rules.mask_type == MaskType::none ? meet.template operator()<ForwardPass::bounded>()
                                            : meet.template operator()<ForwardPass::masked>();
        } else {
          meet.template operator()<ForwardPass::bounded>();
        }
        done = !__syncthreads_or(!resolved());
      }
    }
    if (!done) unit = is_additive(rules.mask_type) ? 1.0f : rules.unit() * kLn2;
    if constexpr (Shape::kStagesMask) {
      if (stages_mask() && p.key_factors != nullptr && !drops()) {
        meet.template operator()<ForwardPass::biased>();
        done = !__syncthreads_or(!all_finite(out));
      }
    }
    constexpr bool kTwice = sizeof(T) == 2 && (kWidth == 64 || kWidth == 128) && kExtras == Extras::none;
    const auto meet_any = [&] { meet.template operator()<ForwardPass::any>(); };
    if (!done) run_guarded<kTwice>(guarded, meet_any, [&] { return all_finite(out); });
    store(unit);
  }
};

template <typename T, int kWidth, Extras kExtras>
__global__ void __launch_bounds__(ForwardShape<T, kWidth, kExtras>::kThreads,
                                  ForwardShape<T, kWidth, kExtras>::kBlocksPerProcessor)
    forward_kernel(const __grid_constant__ ForwardParameters p) {
  extern __shared__ __align__(128) uint8_t memory[];
  using Block = ForwardBlock<T, kWidth, kExtras>;
  constexpr int kQueries = Block::Shape::kQueries;
  const unsigned block = block_in_order(p.problem, p.problem.cu_seqlens_q, p.problem.queries, kQueries, Longest::last,
                                        blockIdx.x, gridDim.x);
  const Place place(p.problem, p.problem.cu_seqlens_q, p.problem.queries, p.problem.heads, kQueries, block);
  Block work(p, *reinterpret_cast<typename Block::Memory*>(memory), place);
  if (work.first_query < work.rules.queries) work.run();
}

template <typename T, int kWidth, Extras kExtras>
cudaError_t launch_forward(const ForwardParameters& parameters, cudaStream_t stream) {
  using Shape = ForwardShape<T, kWidth, kExtras>;
  static_assert(sizeof(ForwardMemory<Shape>) <= kSharedMemory);
  const AttentionProblem& p = parameters.problem;
  return launch_kernel(forward_kernel<T, kWidth, kExtras>, block_count(p, p.queries, p.heads, Shape::kQueries),
                       Shape::kThreads, sizeof(ForwardMemory<Shape>), stream, parameters);
}

}  // namespace

std::int64_t forward_workspace(const AttentionProblem& p) { return mask_workspace(p); }

cudaError_t forward(const AttentionProblem& original, const RemainingProblem& prepared, const ForwardOutputs& outputs,
                    float* workspace, const Launch& launch) {
  const AttentionProblem& p = prepared.problem;
  PackedMask mask;
  if (const cudaError_t error = pack_mask(p, workspace, launch.stream, mask); error != cudaSuccess) return error;
  const ForwardParameters parameters{p,
                                     {p.q, p.dim, p.type},
                                     {p.k, p.dim, p.type},
                                     {p.v, p.value_dim, p.type},
                                     {outputs.out, original.value_dim, p.type},
                                     outputs.lse,
                                     outputs.lse_low,
                                     prepared.query_factors,
                                     prepared.key_factors,
                                     mask.of_queries};
  for (const Matrix& rows : {parameters.q, parameters.k, parameters.v}) {
    if (!rows.aligned) return cudaErrorMisalignedAddress;
  }
  if (const cudaError_t error =
          clear_rows_of_no_sequence(p, p.cu_seqlens_q, p.queries, p.heads, parameters.out, outputs.lse, launch.stream);
      error != cudaSuccess) {
    return error;
  }
  return with_shape(p, [&]<typename T, int kWidth>() {
    const Extras extras = extras_of(p);
    if constexpr (sizeof(T) == 2) {
      if (extras == Extras::dropout) return launch_forward<T, kWidth, Extras::dropout>(parameters, launch.stream);
      if constexpr (ForwardShape<T, kWidth, Extras::none>::kMasksApart) {
        if (extras == Extras::none && p.mask.type == MaskType::boolean) {
          return launch_forward<T, kWidth, Extras::boolean_mask>(parameters, launch.stream);
        }
      }
    }
    return extras == Extras::none ? launch_forward<T, kWidth, Extras::none>(parameters, launch.stream)
                                  : launch_forward<T, kWidth, Extras::additive_mask>(parameters, launch.stream);
  });
}

}  // namespace quest::kernels::cuda::portable
