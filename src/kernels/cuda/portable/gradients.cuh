#pragma once

// Backward: a block owns a tile of rows of one side and meets the tiles of the other side. Owning keys it sums dK and
// dV over the queries of all heads of its group, owning queries it sums dQ over the keys. The owned rows k and v (q and
// dO) meet the streamed rows q and dO (k and v): one pair of products gives the logits, the other the gradients of the
// weights, and both feed sums over the streamed rows.

#include <math_constants.h>

#include "kernels/cuda/device/dropout.cuh"
#include "kernels/cuda/portable/lead_back.cuh"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/row_tile.cuh"
#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/store.cuh"

namespace quest::kernels::cuda::portable {

// What a query brings to its weights besides its rows.
struct QueryTerms {
  float lse;    // in units of log 2; +inf for a row that sees no key, whose weights are then 0
  float delta;  // dO·O
};

enum class Owns { queries, keys_and_values, keys, values };

struct GradientParameters {
  AttentionProblem problem;  // prepared
  Matrix q;
  Matrix k;
  Matrix v;
  Matrix grad_out;
  const QueryTerms* query_terms;  // [B, H, Nq]
  Matrix grad_q;
  Matrix grad_k;
  Matrix grad_v;
  const float* key_reciprocals;
  const float* query_factors;  // [B, H, Nq], or null
  const float* key_factors;    // [B, Hk, Nk], or null
  QueryChain query_chain;
};

template <typename T, int kWidth, Owns kOwns>
struct GradientShape {
  static constexpr bool kKeySide = kOwns != Owns::queries;
  static constexpr int kRowBytes = kWidth * static_cast<int>(sizeof(T));
  static constexpr int kWarps = kRowBytes <= 512 ? 4 : 2;
  static constexpr int kThreads = kWarps * 32;
  static constexpr int kOwned = kWarps * 16;
  static constexpr int kStreamed = kRowBytes > 256 ? 16 : sizeof(T) == 2 ? 64 : 32;
  // Tiles of streamed rows in shared memory, which may be no more than 99 KiB: of q or k, and of dO or v.
  static constexpr int kStages = kRowBytes <= 512 ? 2 : 1;
  static constexpr int kSecondStages = kWidth <= 64 ? 2 : 1;
  static constexpr bool kHeld = sizeof(T) == 2 && kWidth <= 64 && kKeySide;
  static constexpr int kBlocksPerProcessor = sizeof(T) == 2 && kWidth <= 64 && !kKeySide ? 3 : 2;
  using OwnedTile = RowTile<T, kWidth, kOwned>;
  using StreamedTile = RowTile<T, kWidth, kStreamed>;
};

template <int kCount>
struct QuerySide {
  alignas(16) QueryTerms terms[kCount];
  uint2 dropout[kCount];
};

template <typename T, int kWidth, Owns kOwns>
struct GradientMemory {
  using Shape = GradientShape<T, kWidth, kOwns>;
  static constexpr bool kKeySide = Shape::kKeySide;
  alignas(16) uint8_t owned[2][Shape::OwnedTile::kBytes];
  alignas(16) uint8_t streamed_first[Shape::kStages][Shape::StreamedTile::kBytes];
  alignas(16) uint8_t streamed_second[Shape::kSecondStages][Shape::StreamedTile::kBytes];
  QuerySide<kKeySide ? Shape::kStreamed : Shape::kOwned> queries[kKeySide ? Shape::kStages : 1];
  float owned_factors[Shape::kOwned];
  alignas(8) float streamed_factors[Shape::kStages][Shape::kStreamed];
  uint8_t nonfinite[2][Shape::kStreamed];
};

template <typename T, int kWidth, Owns kOwns>
struct GradientBlock {
  using Shape = GradientShape<T, kWidth, kOwns>;
  using Memory = GradientMemory<T, kWidth, kOwns>;
  using OwnedTile = typename Shape::OwnedTile;
  using StreamedTile = typename Shape::StreamedTile;
  static constexpr bool kKeySide = Shape::kKeySide;
  static constexpr bool kFirst = kOwns != Owns::values;                                     // sums dQ or dK
  static constexpr bool kSecond = kOwns == Owns::values || kOwns == Owns::keys_and_values;  // sums dV
  static constexpr Along kRows = kKeySide ? Along::keys : Along::queries;
  static constexpr int kStreamed = Shape::kStreamed;
  static constexpr int kBlocks = kStreamed / 8;

  const GradientParameters& p;
  Memory& memory;
  Sequence sequence;
  ScoreRules rules;
  unsigned block_index;
  int group;
  int head;  // of the owned rows
  int first_owned;
  int first_row;  // of this warp
  LeftRows<T, kWidth, 1, Shape::kHeld> first_left;
  LeftRows<T, kWidth, 1, Shape::kHeld> second_left;
  Accumulator first_sums[1][kFirst ? kWidth / 8 : 1];
  Accumulator second_sums[1][kSecond ? kWidth / 8 : 1];
  bool guarded = false;

  __device__ GradientBlock(const GradientParameters& parameters, Memory& shared, const Place& place, unsigned block)
      : p(parameters),
        memory(shared),
        sequence(p.problem, place.sequence),
        rules(p.problem, sequence),
        block_index(block),
        group(static_cast<int>(p.problem.heads / p.problem.kv_heads)),
        head(place.head),
        first_owned(place.tile * Shape::kOwned),
        first_row(first_owned + warp_id() * 16) {}

  __device__ OwnedTile owned(int i) const { return {shared_address(memory.owned[i])}; }
  __device__ StreamedTile first_tile(int step) const {
    return {shared_address(memory.streamed_first[step % Shape::kStages])};
  }
  __device__ StreamedTile second_tile(int step) const {
    return {shared_address(memory.streamed_second[step % Shape::kSecondStages])};
  }
  __device__ int owned_rows() const { return kKeySide ? rules.keys : rules.queries; }

  __device__ Rows<T> rows_of(const Matrix& m, int of_head, bool key) const {
    return {m, sequence.batch, of_head, key ? sequence.first_key : sequence.first_query};
  }

  // One step of the loop is one tile of streamed rows of one head.
  struct Steps {
    int first_tile;
    int tiles;  // per head
    int count;
  };
  __device__ Steps steps() const {
    Steps result{0, 0, 0};
    if (first_owned >= owned_rows()) return result;
    if (kKeySide) {
      result.first_tile = rules.first_query(first_owned) / kStreamed;
      result.tiles = max(0, static_cast<int>(ceil_div(rules.queries, kStreamed)) - result.first_tile);
      result.count = result.tiles * group;
    } else {
      const int last = min(first_owned + Shape::kOwned, rules.queries) - 1;
      result.count = result.tiles = static_cast<int>(ceil_div(rules.limit(last), kStreamed));
    }
    return result;
  }
  __device__ int head_at(const Steps& s, int step) const { return kKeySide ? head * group + step / s.tiles : head; }
  __device__ int row_at(const Steps& s, int step) const { return (s.first_tile + step % s.tiles) * kStreamed; }

  template <int kCount>
  __device__ void stage_query_side(QuerySide<kCount>& side, int query_head, int first_query) const {
    const int64_t at =
        dense_row(sequence.batch, p.problem.heads, query_head, p.problem.queries, sequence.first_query + first_query);
    for (int i = threadIdx.x; i < kCount; i += Shape::kThreads) {
      // Past the end all rows are zero, and so is what they would contribute.
      const bool exists = first_query + i < rules.queries;
      copy_pair(shared_address(side.terms + i), p.query_terms + (exists ? at + i : 0), exists);
      if (p.problem.dropout_p > 0) {
        const DropoutRow draw(p.problem.dropout_seed, sequence.index, query_head, first_query + i);
        side.dropout[i] = {draw.first_key, draw.second_key};
      }
    }
  }

  __device__ const float* owned_factors() const { return kKeySide ? p.key_factors : p.query_factors; }
  __device__ const float* streamed_factors() const { return kKeySide ? p.query_factors : p.key_factors; }

  template <int kCount>
  __device__ void stage_factors(float (&to)[kCount], const float* factors, int of_head, int first, bool key) const {
    if (factors == nullptr) return;
    const AttentionProblem& all = p.problem;
    factors += key ? dense_row(sequence.batch, all.kv_heads, of_head, all.keys, sequence.first_key)
                   : dense_row(sequence.batch, all.heads, of_head, all.queries, sequence.first_query);
    stage<Shape::kThreads>(to, factors, first, key ? rules.keys : rules.queries);
  }

  __device__ void stage_owned() {
    stage<Shape::kThreads>(owned(0), rows_of(kKeySide ? p.k : p.q, head, kKeySide), first_owned, owned_rows());
    stage<Shape::kThreads>(owned(1), rows_of(kKeySide ? p.v : p.grad_out, head, kKeySide), first_owned, owned_rows());
    stage_factors(memory.owned_factors, owned_factors(), head, first_owned, kKeySide);
    if (!kKeySide) stage_query_side(memory.queries[0], head, first_owned);
    commit_copies();
  }

  __device__ int streamed_head(const Steps& s, int step) const { return kKeySide ? head_at(s, step) : head / group; }
  __device__ int streamed_rows() const { return kKeySide ? rules.queries : rules.keys; }

  __device__ void stage_first(const Steps& s, int step) {
    if (step >= s.count) return;
    const Rows<T> rows = rows_of(kKeySide ? p.q : p.k, streamed_head(s, step), !kKeySide);
    stage<Shape::kThreads>(first_tile(step), rows, row_at(s, step), streamed_rows());
    stage_factors(memory.streamed_factors[step % Shape::kStages], streamed_factors(), streamed_head(s, step),
                  row_at(s, step), !kKeySide);
    if (kKeySide) stage_query_side(memory.queries[step % Shape::kStages], head_at(s, step), row_at(s, step));
    commit_copies();
  }
  __device__ void stage_second(const Steps& s, int step) {
    if (step >= s.count) return;
    const Rows<T> rows = rows_of(kKeySide ? p.grad_out : p.v, streamed_head(s, step), !kKeySide);
    stage<Shape::kThreads>(second_tile(step), rows, row_at(s, step), streamed_rows());
    commit_copies();
  }

  __device__ void multiply_owned_factors(Accumulator (&scores)[kBlocks]) const {
    if (owned_factors() != nullptr) scale_rows(scores, memory.owned_factors + first_row - first_owned);
  }
  __device__ void multiply_streamed_factors(Accumulator (&scores)[kBlocks], int step) const {
    if (streamed_factors() != nullptr) scale_columns(scores, memory.streamed_factors[step % Shape::kStages]);
  }

  // Turns logits into weights, and the gradients of the weights into those of the logits.
  __device__ void differentiate(Accumulator (&weights)[kBlocks], Accumulator (&grads)[kBlocks], int row, int step) {
    const auto& side = memory.queries[kKeySide ? step % Shape::kStages : 0];
    const int first_query = kKeySide ? 0 : first_row - first_owned;
    if (guarded || p.problem.dropout_p > 0 || rules.mask_type > MaskType::boolean) {
      return differentiate_with_care(weights, grads, side, first_query, kKeySide ? first_row : row);
    }
    const float unit = rules.unit();
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const QueryTerms terms =
            side.terms[first_query + (kKeySide ? block * 8 + lane_column() + i % 2 : lane_row() + i / 2 * 8)];
        float& weight = weights[block].x[i];
        weight = exp2_fast(fmaf(weight, unit, -terms.lse));
        if (kFirst) grads[block].x[i] = weight * (grads[block].x[i] - terms.delta);
      }
    }
  }

  // The same with dropout and additive masks, and with a weight and a gradient of exactly zero for what is hidden.
  template <typename Side>
  __device__ void differentiate_with_care(Accumulator (&weights)[kBlocks], Accumulator (&grads)[kBlocks],
                                          const Side& side, int first_query, int first_key) {
    const float unit = rules.unit();
    const bool drop = p.problem.dropout_p > 0;
    const DropoutFactors factors(p.problem.dropout_p);
#pragma unroll
    for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int row = lane_row() + i / 2 * 8;
        const int column = block * 8 + lane_column() + i % 2;
        const int query = first_query + (kKeySide ? column : row);
        const QueryTerms terms = side.terms[query];
        float& weight = weights[block].x[i];
        float& grad = grads[block].x[i];
        const bool hidden = weight == -kInfinity || terms.lse == kInfinity;
        const float exponent = fmaf(weight, unit, -terms.lse);
        // A large bias may round the exponent above 0, where a weight cannot be.
        weight = hidden ? 0.0f : exp2_fast(exponent > 0 ? 0.0f : exponent);
        bool kept = true;
        if (drop) {
          const uint2 draw = side.dropout[query];
          kept = factors.keeps(draw.x, draw.y, first_key + (kKeySide ? row : column));
          grad = kept ? grad * factors.kept : 0.0f;
        }
        if (kFirst) {
          grad = weight == 0 ? 0.0f : weight * (grad - terms.delta);
          if (guarded && grad != 0 && memory.nonfinite[0][column]) grad = CUDART_NAN_F;
        }
        if (kSecond) {
          if (!kept) weight = 0;
          if (guarded && weight != 0 && memory.nonfinite[1][column]) weight = CUDART_NAN_F;
        }
      }
    }
  }

  // Whether any owned row of this warp sees any row of the tile at `row`.
  __device__ bool meets(int row) const {
    if (first_row >= owned_rows()) return false;
    if (kKeySide) return rules.first_query(first_row) < row + kStreamed;
    return row < rules.limit(min(first_row + 16, rules.queries) - 1);
  }

  // Where there is room for one second tile only, the next one is under way from its last product on.
  __device__ void step(const Steps& s, int index) {
    const int row = row_at(s, index);
    const bool active = meets(row);
    Accumulator weights[1][kBlocks] = {};
    Accumulator grads[1][kBlocks] = {};
    if (active) {
      rules.select_head(p.problem, sequence, head_at(s, index));
      multiply_rows<OwnedTile>(weights, first_left, first_tile(index));
      if (kFirst) multiply_rows<OwnedTile>(grads, second_left, second_tile(index));
    }
    if (guarded) {
      __syncthreads();
      clear_nonfinite<Shape::kThreads>(first_tile(index), memory.nonfinite[0]);
      if (kSecond) clear_nonfinite<Shape::kThreads>(second_tile(index), memory.nonfinite[1]);
    }
    if (Shape::kSecondStages == 1 && !kSecond) {
      __syncthreads();
      stage_second(s, index + 1);
    }
    if (active) {
      multiply_owned_factors(weights[0]);
      multiply_streamed_factors(weights[0], index);
      rules.template apply<kRows>(weights[0], kKeySide ? row : first_row, kKeySide ? first_row : row);
      differentiate(weights[0], grads[0], row, index);
      if (kFirst) multiply_streamed_factors(grads[0], index);
      if constexpr (kSecond) {
        const Weights<T, kStreamed> left[1] = {Weights<T, kStreamed>(weights[0])};
        multiply_weights<T>(second_sums, left, second_tile(index));
      }
    }
    if (Shape::kSecondStages == 1 && kSecond) {
      __syncthreads();
      stage_second(s, index + 1);
    }
    if constexpr (kFirst) {
      if (active) {
        const Weights<T, kStreamed> left[1] = {Weights<T, kStreamed>(grads[0])};
        multiply_weights<T>(first_sums, left, first_tile(index));
      }
    }
  }

  __device__ void meet_all(const Steps& s) {
    clear(first_sums);
    clear(second_sums);
    stage_first(s, 0);
    stage_second(s, 0);
    wait_copies();
    __syncthreads();
    first_left.take(owned(0), first_row - first_owned);
    second_left.take(owned(1), first_row - first_owned);
#pragma unroll 1
    for (int index = 0; index < s.count; ++index) {
      wait_copies();
      __syncthreads();
      if (Shape::kStages > 1) stage_first(s, index + 1);
      if (Shape::kSecondStages > 1) stage_second(s, index + 1);
      step(s, index);
      if (Shape::kStages == 1) {
        __syncthreads();
        stage_first(s, index + 1);
      }
    }
    __syncthreads();
  }

  __device__ void store() {
    if constexpr (kKeySide) {
      const int stored = static_cast<int>(sequence.keys_stored);
      if constexpr (kFirst) {
        scale_rows(first_sums[0], p.problem.scale, p.problem.scale);
        if (p.key_reciprocals != nullptr) {
          const float* reciprocals = p.key_reciprocals + dense_row(sequence.batch, p.problem.kv_heads, head,
                                                                   p.problem.keys, sequence.first_key);
          project_rows(first_sums[0], reciprocals, first_row, rules.keys, [&](int row, int column) {
            return owned(0).element(row - first_owned, column) * memory.owned_factors[row - first_owned];
          });
        }
        store_rows<T>(first_sums[0], {p.grad_k, sequence.batch, head, sequence.first_key}, first_row, stored);
      }
      if constexpr (kSecond) {
        const float kept = p.problem.dropout_p > 0 ? DropoutFactors(p.problem.dropout_p).kept : 1.0f;
        scale_rows(second_sums[0], kept, kept);
        store_rows<T>(second_sums[0], {p.grad_v, sequence.batch, head, sequence.first_key}, first_row, stored);
      }
    } else {
      const QueryPlace place{block_index, sequence.batch, head,         sequence.first_query,
                             first_owned, first_row,      rules.queries};
      lead_back_queries<Shape::kThreads>(first_sums[0], p.query_chain, place, owned(0),
                                         reinterpret_cast<float*>(memory.owned[1]));
      store_rows<T>(first_sums[0], {p.grad_q, sequence.batch, head, sequence.first_query}, first_row, rules.queries);
    }
  }

  __device__ void run() {
    const Steps s = steps();
    stage_owned();
    run_guarded<T, kWidth>(
        guarded, [&] { meet_all(s); }, [&] { return all_finite(first_sums) && all_finite(second_sums); });
    store();
  }
};

template <typename T, int kWidth, Owns kOwns>
__global__ void __launch_bounds__(GradientShape<T, kWidth, kOwns>::kThreads,
                                  GradientShape<T, kWidth, kOwns>::kBlocksPerProcessor)
    gradient_kernel(const __grid_constant__ GradientParameters p) {
  extern __shared__ __align__(16) uint8_t memory[];
  using Block = GradientBlock<T, kWidth, kOwns>;
  constexpr int kOwned = GradientShape<T, kWidth, kOwns>::kOwned;
  auto& shared = *reinterpret_cast<typename Block::Memory*>(memory);
  const AttentionProblem& problem = p.problem;
  if constexpr (Block::kKeySide) {
    const Place place(problem, problem.cu_seqlens_k, problem.keys, problem.kv_heads, kOwned, blockIdx.x);
    Block work(p, shared, place, blockIdx.x);
    if (work.first_owned < work.sequence.keys_stored) work.run();
  } else {
    // The last tiles of a causal problem have the most keys and go first.
    const unsigned block = problem.causal == Causal::none ? blockIdx.x : gridDim.x - 1 - blockIdx.x;
    const Place place(problem, problem.cu_seqlens_q, problem.queries, problem.heads, kOwned, block);
    Block work(p, shared, place, block);
    if (work.first_owned < work.rules.queries) {
      work.run();
    } else if (p.query_chain.gain_partials != nullptr) {
      clear_gain_partial(p.query_chain, block);
    }
  }
}

}  // namespace quest::kernels::cuda::portable
