// Forward: a block owns a tile of queries of one head and meets one tile of keys after the other. Unit keys bound a
// row's logits by ‖q‖, and weights need no running maximum; where that bound says too little, or does not hold, the
// block begins again with one.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/clear_rows.cuh"
#include "kernels/cuda/portable/mask_tile.cuh"
#include "kernels/cuda/portable/portable.h"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/row_tile.cuh"
#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/store.cuh"

namespace quest::kernels::cuda::portable {
namespace {

struct ForwardParameters {
  AttentionProblem problem;
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix out;
  float* lse;
  const float* query_factors;  // [B, H, Nq], or null
  const float* key_factors;    // [B, Hk, Nk], or null
  MaskBits mask_bits;
};

template <typename T, int kWidth, bool kExtras>
struct ForwardShape {
  static constexpr bool kNarrow = sizeof(T) == 2;
  static constexpr int kWarps = 4;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kRowTiles = kNarrow && kWidth <= 128 ? 2 : 1;
  static constexpr int kQueries = kWarps * kRowTiles * 16;
  static constexpr int kKeys = kWidth * sizeof(T) <= 256 ? 64 : kWidth * sizeof(T) == 512 ? 32 : 16;
  static constexpr bool kHeld = kNarrow && kWidth <= 32;
  static constexpr int kBlocksPerProcessor = kNarrow && kWidth <= 64 ? 3 : 2;
  using QueryTile = RowTile<T, kWidth, kQueries>;
  using KeyTile = RowTile<T, kWidth, kKeys>;
  static constexpr bool kStagesMask = kNarrow && kExtras;
  using MaskTile = portable::MaskTile<kQueries, kKeys>;
};

template <typename Shape>
struct ForwardMemory : MaskMemory<typename Shape::MaskTile, Shape::kStagesMask> {
  alignas(16) uint8_t queries[Shape::QueryTile::kBytes];
  alignas(16) uint8_t keys[Shape::KeyTile::kBytes];
  alignas(16) uint8_t values[Shape::KeyTile::kBytes];
  float query_factors[Shape::kQueries];
  alignas(8) float key_factors[Shape::kKeys];
  uint2 dropout[Shape::kQueries];
  uint8_t nonfinite[Shape::kKeys];
};

// Exponents of weights, in units of log 2, when bounds take the place of maxima: weights are kept under 2^kMost, and
// blocks with a bound over kLargest are not tried.
template <typename T>
struct BoundedWeights {
  static constexpr float kMost = std::is_same_v<T, __half> ? 14.0f : 40.0f;
  static constexpr float kLargest = std::is_same_v<T, __half> ? 24.0f : 100.0f;

  // Whether rounding left nothing out: half precision has few numbers below one, and a sum over `keys` says only how
  // large weights are on average.
  __device__ static bool resolved(float sum, int keys) {
    return sum >= (std::is_same_v<T, __half> ? 0x1p-13f * static_cast<float>(keys) : 0x1p-60f) && sum < kInfinity;
  }
};

// The running softmax of a lane's two rows in each row tile.
template <int kRowTiles>
struct RunningRows {
  float most[kRowTiles][2];    // or offsets, where logits are bounded
  Accumulator sum[kRowTiles];  // as Engine::add_sums keeps them

  __device__ RunningRows() {
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      most[r][0] = most[r][1] = -kInfinity;
      sum[r] = {};
    }
  }

  // Raises the maxima of row tile r; what was summed with the old ones shrinks.
  template <int kBlocks, int kOutBlocks>
  __device__ void raise(int r, const Accumulator (&scores)[kBlocks], Accumulator (&out)[kOutBlocks], float unit) {
    float now[2] = {scores[0].x[0], scores[0].x[2]};
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) now[i / 2] = fmaxf(now[i / 2], scores[block].x[i]);
    }
    float shrink[2];
    bool same = true;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      now[half] = fmaxf(most[r][half], quad_max(now[half]));
      same &= now[half] == most[r][half];
      shrink[half] = now[half] == most[r][half] ? 1.0f : exp2_fast((most[r][half] - now[half]) * unit);
      most[r][half] = now[half];
    }
    if (__all_sync(0xffffffffu, same)) return;
#pragma unroll
    for (int i = 0; i < 4; ++i) sum[r].x[i] *= shrink[i / 2];
    scale_rows(out, shrink[0], shrink[1]);
  }

  // No visible key so far: any finite offset gives weights of 0.
  __device__ float offset(int r, int half, float unit) const {
    return most[r][half] == -kInfinity ? 0.0f : most[r][half] * unit;
  }
};

template <typename T, int kWidth, bool kExtras>
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

  __device__ KeyTile key_tile() const { return {shared_address(memory.keys)}; }
  __device__ KeyTile value_tile() const { return {shared_address(memory.values)}; }
  __device__ auto mask_tile() const { return typename Shape::MaskTile{shared_address(memory.mask)}; }
  __device__ void apply_rules(Accumulator (&scores)[kKeys / 8], int row, int first_key) const {
    if (!kExtras || !is_additive(rules.mask_type)) {
      rules.template apply<Along::queries>(scores, row, first_key);
    } else if constexpr (Shape::kStagesMask) {
      rules.template apply_additive<Along::queries>(
          scores, row, first_key, [&](int step) { return Engine<T>::load_left(mask_tile(), row - first_query, step); });
    } else if constexpr (kExtras) {
      rules.template apply_additive<Along::queries>(scores, row, first_key, NotStaged());
    }
  }

  __device__ bool drops() const { return kExtras && p.problem.dropout_p > 0; }

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
      const DropoutRow draw(p.problem.dropout_seed, sequence.index, head, first_query + row);
      memory.dropout[row] = {draw.first_key, draw.second_key};
    }
  }
  __device__ void stage_keys(int first_key) {
    stage<Shape::kThreads>(key_tile(), keys, first_key, rules.keys);
    commit_copies();
  }
  // And the mask and the factors of the keys, which scores need no sooner.
  __device__ void stage_values(int first_key) {
    stage<Shape::kThreads>(value_tile(), values, first_key, rules.keys);
    if (p.key_factors != nullptr) {
      const float* factors =
          p.key_factors + dense_row(sequence.batch, p.problem.kv_heads, kv_head, p.problem.keys, sequence.first_key);
      stage<Shape::kThreads>(memory.key_factors, factors, first_key, rules.keys);
    }
    if constexpr (Shape::kStagesMask) {
      if (is_additive_16bit(rules.mask_type)) {
        copy_mask<kRowTiles * 16, Shape::MaskTile::kChunks>(mask_tile(), first_row - first_query, 0, rules, first_query,
                                                            first_key);
      }
    }
    commit_copies();
  }

  // Dropped weights become zero; those of a value with something not finite become NaN unless they are zero.
  __device__ void alter_weights(Accumulator (&weights)[kKeys / 8], int row, int first_key) {
    const DropoutFactors factors(p.problem.dropout_p);
    visit<Along::queries>(weights, row, first_key, [&](int query, int key, float& x) {
      if (drops()) {
        const uint2 draw = memory.dropout[query - first_query];
        if (!factors.keeps(draw.x, draw.y, key)) x = 0;
      }
      if (guarded && x != 0 && memory.nonfinite[key - first_key]) x = CUDART_NAN_F;
    });
  }

  __device__ void softmax(Accumulator (&scores)[kRowTiles][kKeys / 8], Weights<T, kKeys> (&weights)[kRowTiles],
                          int first_key) {
    const float unit = rules.unit();
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      if (p.query_factors != nullptr) scale_rows(scores[r], memory.query_factors + first_row - first_query + r * 16);
      if (p.key_factors != nullptr) scale_columns(scores[r], memory.key_factors);
      apply_rules(scores[r], first_row + r * 16, first_key);
      running.raise(r, scores[r], out[r], unit);
      const float offset[2] = {running.offset(r, 0, unit), running.offset(r, 1, unit)};
#pragma unroll
      for (int block = 0; block < kKeys / 8; ++block) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          scores[r][block].x[i] = exp2_fast(fmaf(scores[r][block].x[i], unit, -offset[i / 2]));
        }
      }
      weights[r] = Weights<T, kKeys>(scores[r]);
#pragma unroll
      for (int step = 0; step < weights[r].kSteps; ++step) {
        Engine<T>::add_sums(running.sum[r], weights[r].steps[step]);
      }
      if (guarded || drops()) {
        alter_weights(scores[r], first_row + r * 16, first_key);
        weights[r] = Weights<T, kKeys>(scores[r]);
      }
    }
  }

  // The same from bounds, which stand in `running`.
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
      float2 factors = *reinterpret_cast<const float2*>(memory.key_factors + block * 8 + lane_column());
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
      rules.template hide<Along::queries>(scores[r], first_row + r * 16, first_key, 0.0f);
      weights[r] = Weights<T, kKeys>(scores[r]);
#pragma unroll
      for (int step = 0; step < weights[r].kSteps; ++step) {
        Engine<T>::add_sums(running.sum[r], weights[r].steps[step]);
      }
    }
  }

  template <bool kBounded>
  __device__ void meet_keys() {
    if constexpr (!kBounded) running = {};
    clear(out);
    const int last_row = min(first_row + kRowTiles * 16, rules.queries) - 1;
    const int warp_keys = first_row < rules.queries ? rules.limit(last_row) : 0;
    const int block_keys = rules.limit(min(first_query + Shape::kQueries, rules.queries) - 1);
    left.take(QueryTile{shared_address(memory.queries)}, first_row - first_query);
#pragma unroll 1
    for (int first_key = 0; first_key < block_keys; first_key += kKeys) {
      wait_copies();
      __syncthreads();
      stage_values(first_key);
      Accumulator scores[kRowTiles][kKeys / 8] = {};
      const bool sees =
          first_key < warp_keys && rules.template leaves_any<Along::queries, kRowTiles, kKeys>(first_row, first_key);
      if (sees) multiply_rows<QueryTile>(scores, left, key_tile());
      wait_copies();
      __syncthreads();
      if (first_key + kKeys < block_keys) stage_keys(first_key + kKeys);
      if (!kBounded && guarded) clear_nonfinite<Shape::kThreads>(value_tile(), memory.nonfinite);
      if (sees) {
        Weights<T, kKeys> weights[kRowTiles];
        if constexpr (kBounded) {
          softmax_of_bounded(scores, weights, first_key);
        } else {
          softmax(scores, weights, first_key);
        }
        multiply_weights<T>(out, weights, value_tile());
      }
    }
    __syncthreads();
  }

  // Puts what is to be taken from the logits of each row into `running`. Not where a row's bound is too large.
  __device__ bool take_bounds() {
    if (p.key_factors == nullptr || rules.mask_type != MaskType::none || rules.scale <= 0) {
      return false;
    }
    if (rules.keys == 1) return false;  // the weight of a single key is exactly one from its maximum
    const QueryTile tile{shared_address(memory.queries)};
    const int row = first_row - first_query + lane_id();
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
      all &= seen == 0 || BoundedWeights<T>::resolved(running.sum[i / 2].x[i % 2 * 2], seen);
    }
    return all;
  }

  // `unit` is that of `running.most`.
  __device__ void store(float unit) {
    const OutputRows<T> to(p.out, sequence.batch, head, sequence.first_query);
    float* lse = p.lse + dense_row(sequence.batch, p.problem.heads, head, p.problem.queries, sequence.first_query);
    const float kept = p.problem.dropout_p > 0 ? DropoutFactors(p.problem.dropout_p).kept : 1.0f;
#pragma unroll
    for (int r = 0; r < kRowTiles; ++r) {
      float factor[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const float sum = Engine<T>::row_sum(running.sum[r].x[half * 2]);
        factor[half] = sum == 0 ? 0.0f : kept / sum;
        const int row = first_row + r * 16 + half * 8 + lane_row();
        if (row < rules.queries && lane_column() == 0) {
          lse[row] = sum == 0 ? -kInfinity : running.most[r][half] * unit * kLn2 + logf(sum);
        }
      }
      scale_rows(out[r], factor[0], factor[1]);
      store_rows(out[r], to, first_row + r * 16, rules.queries);
    }
  }

  __device__ void stage_first_keys() {
    stage_keys(0);
    wait_copies();
    __syncthreads();
  }

  __device__ void run() {
    stage_queries();
    stage_first_keys();
    bool staged = true;
    const auto meet_bounded = [&] {
      if constexpr (kRowTiles == 2 && !kExtras) {  // a lane for each row of the warp
        if (!take_bounds()) return false;
        meet_keys<true>();
        staged = false;
        return !__syncthreads_or(!resolved());
      }
      return false;
    };
    float unit = 1.0f;
    if (!meet_bounded()) {
      const auto pass = [&] {
        if (!staged) stage_first_keys();
        meet_keys<false>();
        staged = false;
      };
      run_guarded<T, kWidth>(guarded, pass, [&] { return all_finite(out); });
      unit = rules.unit();
    }
    store(unit);
  }
};

template <typename T, int kWidth, bool kExtras>
__global__ void __launch_bounds__(ForwardShape<T, kWidth, kExtras>::kThreads,
                                  ForwardShape<T, kWidth, kExtras>::kBlocksPerProcessor)
    forward_kernel(const __grid_constant__ ForwardParameters p) {
  extern __shared__ __align__(16) uint8_t memory[];
  using Block = ForwardBlock<T, kWidth, kExtras>;
  constexpr int kQueries = Block::Shape::kQueries;
  const unsigned block = block_in_order(p.problem, p.problem.cu_seqlens_q, p.problem.queries, kQueries, Longest::last,
                                        blockIdx.x, gridDim.x);
  const Place place(p.problem, p.problem.cu_seqlens_q, p.problem.queries, p.problem.heads, kQueries, block);
  Block work(p, *reinterpret_cast<typename Block::Memory*>(memory), place);
  if (work.first_query < work.rules.queries) work.run();
}

template <typename T, int kWidth, bool kExtras>
cudaError_t launch_forward(const ForwardParameters& parameters, cudaStream_t stream) {
  using Shape = ForwardShape<T, kWidth, kExtras>;
  static_assert(sizeof(ForwardMemory<Shape>) <= kSharedMemory);
  const AttentionProblem& p = parameters.problem;
  return launch_kernel(forward_kernel<T, kWidth, kExtras>, block_count(p, p.queries, p.heads, Shape::kQueries),
                       Shape::kThreads, sizeof(ForwardMemory<Shape>), stream, parameters);
}

}  // namespace

std::int64_t forward_workspace(const AttentionProblem& p) { return mask_workspace(p); }

cudaError_t forward(const PreparedProblem& prepared, const ForwardOutputs& outputs, float* workspace,
                    const Launch& launch) {
  const AttentionProblem& p = prepared.problem;
  PackedMask mask;
  if (const cudaError_t error = pack_mask(p, workspace, launch.stream, mask); error != cudaSuccess) return error;
  const ForwardParameters parameters{p,
                                     {p.q, p.dim, p.type},
                                     {p.k, p.dim, p.type},
                                     {p.v, p.value_dim, p.type},
                                     {outputs.out, p.value_dim, p.type},
                                     outputs.lse,
                                     prepared.query_factors,
                                     prepared.key_factors,
                                     mask.of_queries};
  if (const cudaError_t error =
          clear_rows_of_no_sequence(p, p.cu_seqlens_q, p.queries, p.heads, parameters.out, outputs.lse, launch.stream);
      error != cudaSuccess) {
    return error;
  }
  return with_shape(p, [&]<typename T, int kWidth>() {
    return has_extras(p) ? launch_forward<T, kWidth, true>(parameters, launch.stream)
                         : launch_forward<T, kWidth, false>(parameters, launch.stream);
  });
}

}  // namespace quest::kernels::cuda::portable
