#pragma once

// Backward: a block owns a tile of rows of one side and meets the tiles of the other side. Owning keys it sums dK and
// dV over the queries of all heads of its group, owning queries it sums dQ over the keys. The owned rows k and v (q and
// dO) meet the streamed rows q and dO (k and v): one pair of products gives the logits, the other the gradients of the
// weights, and both feed sums over the streamed rows. Where dQ is bounded, blocks that own keys add to it as well.

#include "kernels/cuda/portable/block_mask.cuh"
#include "kernels/cuda/portable/gradient_pass.cuh"
#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/pair_sums.cuh"
#include "kernels/cuda/portable/products.cuh"
#include "kernels/cuda/portable/query_sums.cuh"
#include "kernels/cuda/portable/score_gradients.cuh"
#include "kernels/cuda/portable/score_rules.cuh"
#include "kernels/cuda/portable/store_gradients.cuh"

namespace quest::kernels::cuda::portable {

template <typename T, int kWidth, Owns kOwns, Extras kExtras>
struct GradientBlock {
  using Stored = T;
  using Shape = GradientShape<T, kWidth, kOwns, kExtras>;
  using Memory = GradientMemory<Shape>;
  using OwnedTile = typename Shape::OwnedTile;
  using StreamedTile = typename Shape::StreamedTile;
  static constexpr bool kKeySide = Shape::kKeySide;
  static constexpr bool kAddsQueries = Shape::kAddsQueries;
  static constexpr Along kRows = kKeySide ? Along::keys : Along::queries;
  static constexpr bool kPaired = Shape::kPaired;
  static constexpr bool kSharesDepth = Shape::kSharesDepth;
  static constexpr int kStreamed = Shape::kStreamed;
  static constexpr int kSumColumns = Shape::kSumColumns;
  static constexpr int kRowTiles = Shape::kRowTiles;
  static constexpr int kParts = Shape::kParts;
  static constexpr int kPartRows = Shape::kPartRows;
  static constexpr int kBlocks = kPartRows / 8;

  const GradientParameters& p;
  Memory& memory;
  Sequence sequence;
  ScoreRules rules;
  unsigned block_index;
  int group;
  int head;  // of the owned rows
  int first_owned;
  int first_row;    // of this warp
  int query_slots;  // of a head in the sums of dQ
  int query_slot;   // the first one of this sequence
  using OwnedRows = LeftRows<T, kSharesDepth ? kSumColumns : kWidth, kRowTiles, Shape::kHeld>;
  OwnedRows first_left;
  OwnedRows second_left;
  Accumulator first_sums[kRowTiles][kSumColumns / 8];                  // dQ or dK
  Accumulator second_sums[kRowTiles][kKeySide ? kSumColumns / 8 : 1];  // dV
  bool guarded = false;
  bool takes_back = false;  // what was added to the sums of dQ
  int parity = 0;           // of the step, for the barriers of pairs
  uint64_t seen_bits = 0;   // by a boolean mask in the next step: none if zero in all lanes

  // See point_at_low.
  const float* tile_low = nullptr;
  int last_low = 0;

  __device__ GradientBlock(const GradientParameters& parameters, Memory& shared, const Place& place, unsigned block)
      : p(parameters),
        memory(shared),
        sequence(p.problem, place.sequence),
        rules(p.problem, sequence, mask_bits()),
        block_index(block),
        group(static_cast<int>(p.problem.heads / p.problem.kv_heads)),
        head(place.head),
        first_owned(place.tile * Shape::kOwned),
        first_row(first_owned + warp_id() / Shape::kPair * kRowTiles * 16),
        query_slots(static_cast<int>(tile_slots(packed(), p.problem.batch, p.problem.queries, kSumRows))),
        query_slot(packed() ? static_cast<int>(first_slot(sequence.first_query, sequence.index, kSumRows)) : 0) {}

  __device__ const MaskBits& mask_bits() const { return kKeySide ? p.mask_bits.of_keys : p.mask_bits.of_queries; }
  __device__ bool packed() const { return p.problem.cu_seqlens_q != nullptr; }
  __device__ OwnedTile owned(int i) const { return {shared_address(memory.owned[i])}; }
  __device__ StreamedTile first_tile(int step) const {
    return {shared_address(memory.streamed_first[step % Shape::kStages])};
  }
  __device__ StreamedTile second_tile(int step) const {
    return {shared_address(memory.streamed_second[step % Shape::kSecondStages])};
  }
  __device__ static int warp_of_pair() { return warp_id() % Shape::kPair; }
  __device__ int owned_rows() const { return kKeySide ? rules.keys : rules.queries; }

  __device__ Rows<T> rows_of(const Matrix& m, int of_head, bool key) const {
    return {m, sequence.batch, of_head, key ? sequence.first_key : sequence.first_query};
  }

  template <bool kDraws = false>
  __device__ void stage_query_side(int step, int query_head, int first_query) const {
    auto& side = query_side(step);
    const int64_t at =
        dense_row(sequence.batch, p.problem.heads, query_head, p.problem.queries, sequence.first_query + first_query);
    each_of<Shape::kThreads, Memory::kQueries>([&](int i) {
      // Past the end all rows are zero, and so is what they would contribute.
      const bool exists = first_query + i < rules.queries;
      copy_pair(shared_address(side.terms + i), p.query_terms + (exists ? at + i : 0), exists);
      if constexpr (Shape::kStagesLow) {
        // Dropout without a mask comes here too.
        const bool has_low = exists && p.lse_low != nullptr;
        const void* low = has_low ? static_cast<const void*>(p.lse_low + at + i) : p.query_terms;
        copy_word(shared_address(side.lse_low + i), low, has_low);
      }
      if constexpr (kAddsQueries) {
        copy_word(shared_address(side.to_fixed + i), p.to_fixed + (exists ? at + i : 0), exists);
      }
      if constexpr (kDraws) draw_dropout(step, query_head, first_query, i);
    });
  }

  __device__ auto& dropout(int step) const {
    if constexpr (kPaired) {
      return memory.dropout;
    } else {
      return query_side(step).dropout;
    }
  }
  __device__ void draw_dropout(int step, int query_head, int first_query, int i) const {
    if (p.problem.dropout_p == 0) return;
    dropout(step)[i] = dropout_keys(DropoutRow(p.problem.dropout_seed, sequence.index, query_head, first_query + i));
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
    if (!kKeySide) stage_query_side<Shape::kDraws>(0, head, first_owned);
    commit_copies();
  }

  __device__ int streamed_head(Step step) const { return kKeySide ? step.head : head / group; }
  __device__ int streamed_rows() const { return kKeySide ? rules.queries : rules.keys; }

  template <GradientPass kPass>
  static constexpr bool kTakesMask =
      Shape::kStagesMask && (kPass == GradientPass::biased || kPass == GradientPass::any);
  template <GradientPass kPass>
  static constexpr bool kDraws = Shape::kDraws && (kPass == GradientPass::dropping || kPass == GradientPass::any);
  template <GradientPass kPass>
  static constexpr bool kSeesBits = kPass == GradientPass::masked || kPass == GradientPass::any;

  template <GradientPass kPass>
  __device__ void stage_first(const Steps& s, Step step) {
    constexpr bool kSimple = kPass != GradientPass::any;
    if (step.index >= s.count) return;
    const int turn = step.index % Shape::kStages;
    const Rows<T> rows = rows_of(kKeySide ? p.q : p.k, streamed_head(step), !kKeySide);
    stage<Shape::kThreads>(first_tile(step.index), rows, step.row, streamed_rows());
    if constexpr (!kSimple) {
      stage_factors(memory.streamed_factors[turn], streamed_factors(), streamed_head(step), step.row, !kKeySide);
    }
    if constexpr (kKeySide) stage_query_side<kDraws<kPass> && !kPaired>(step.index, step.head, step.row);
    commit_copies();
  }
  template <GradientPass kPass>
  __device__ void stage_second(const Steps& s, Step step) {
    if (step.index >= s.count) return;
    const Rows<T> rows = rows_of(kKeySide ? p.grad_out : p.v, streamed_head(step), !kKeySide);
    stage<Shape::kThreads>(second_tile(step.index), rows, step.row, streamed_rows());
    if constexpr (kPaired) {
      if constexpr (kDraws<kPass>) {
        each_of<Shape::kThreads, Memory::kQueries>([&](int i) { draw_dropout(step.index, step.head, step.row, i); });
      }
      memory.barriers.arrive_when_landed();
    } else {
      commit_copies();
    }
  }

  // Of this lane's rows of a row tile. Where they are to be in the sums of dQ, weights and gradients of scores carry
  // them: dK and dV are divided by them at the end.
  __device__ float owned_factor(int r, int half) const {
    if (!kAddsQueries) return 1.0f;
    const float factor = memory.owned_factors[first_row - first_owned + r * 16 + half * 8 + lane_row()];
    return factor == 0 ? 1.0f : factor;
  }
  __device__ void multiply_owned_factors(Accumulator (&scores)[kBlocks], int r) const {
    if (kAddsQueries || owned_factors() == nullptr) return;
    scale_rows(scores, memory.owned_factors + first_row - first_owned + r * 16);
  }
  __device__ void multiply_streamed_factors(Accumulator (&scores)[kBlocks], int step, int part) const {
    if (streamed_factors() == nullptr) return;
    scale_columns(scores, memory.streamed_factors[step % Shape::kStages] + part * kPartRows);
  }

  __device__ auto& query_side(int step) const { return memory.queries[kKeySide ? step % Shape::kSideStages : 0]; }
  // Of the queries of query_side: those of the row tile, or of the part of the streamed ones.
  __device__ int first_query(ScorePlace at) const {
    return kKeySide ? at.part * kPartRows : first_row - first_owned + at.row_tile * 16;
  }

  // What rounding took from the lse of the queries of a tile, where it is not staged.
  __device__ void point_at_low(Step now) {
    const int64_t first = sequence.first_query + now.row;
    tile_low = p.lse_low + dense_row(sequence.batch, p.problem.heads, now.head, p.problem.queries, first);
    last_low = rules.queries - now.row - 1;
  }
  __device__ float low_of(int query) const { return tile_low[min(query, last_low)]; }

  // Whether any owned row of this warp sees any row of the tile at `row`.
  __device__ bool meets(int row) const {
    if (first_row >= owned_rows()) return false;
    if (kKeySide) return rules.first_query(first_row) < row + kStreamed;
    return row < rules.limit(min(first_row + kRowTiles * 16, rules.queries) - 1);
  }

  __device__ void clear_nonfinite_rows(int index) {
    clear_nonfinite<Shape::kThreads>(first_tile(index), memory.nonfinite[0]);
    if (kKeySide) clear_nonfinite<Shape::kThreads>(second_tile(index), memory.nonfinite[1]);
  }

  __device__ static typename Shape::StreamedPart part_of(StreamedTile tile, int part) {
    return {tile.chunk_address(part * kPartRows, 0)};
  }
  // The columns of a tile that this warp sums.
  template <typename Tile>
  __device__ static Tile summed_columns(Tile tile) {
    static_assert(!Shape::kDense || Tile::kChunks / Shape::kPair % Tile::kPeriod == 0);
    return {tile.chunk_address(0, warp_of_pair() * (Tile::kChunks / Shape::kPair))};
  }
  // And those over which it sums the products of scores.
  template <typename Tile>
  __device__ static Tile depth_columns(Tile tile) {
    return kSharesDepth ? summed_columns(tile) : tile;
  }
  __device__ void add_other_depth(Accumulator (&scores)[kBlocks]) {
    if constexpr (kSharesDepth) {
#pragma unroll
      for (Accumulator& block : scores) {
        wait_for_pair();
        memory.scores[threadIdx.x] = block;
        wait_for_pair();
        add(block, memory.scores[threadIdx.x ^ 32]);
      }
    }
  }

  __device__ void meet_all_simply(const Steps& s, GradientPass pass) {
    if constexpr (Shape::kBiased) {
      meet_all<GradientPass::biased>(s);
    } else if constexpr (Shape::kDraws) {
      meet_all<GradientPass::dropping>(s);
    } else {
      pass == GradientPass::plain ? meet_all<GradientPass::plain>(s) : meet_all<GradientPass::masked>(s);
    }
  }

  // Fetches what tells whether a boolean mask leaves anything of a step, a step ahead, not to wait for it.
  __device__ void look_ahead(Step step) {
    if (first_row >= owned_rows() && !kAddsQueries) return;
    constexpr int kCount = kAddsQueries ? Shape::kOwned : 16;
    const int first = kAddsQueries ? first_owned : first_row;
    rules.select_head(p.problem, mask_bits(), sequence, step.head);
    seen_bits =
        rules.template bits_of_rows<kRows, kCount, kStreamed>(kKeySide ? step.row : first, kKeySide ? first : step.row);
  }

  // Where there is room for one second tile only, the next one is under way from its last product on.
  template <GradientPass kPass>
  __device__ void take(const Steps& s, Step now, Step next) {
    constexpr bool kSimple = kPass != GradientPass::any;
    const int index = now.index;
    const int row = now.row;
    bool active = meets(row);
    bool any_active = true;  // warp of the block
    if constexpr (Shape::kBiased && !Shape::kStagesLow) point_at_low(now);
    // Rows without finite numbers have no finite log-sum-exp or Δ, and need not show in the products.
    if (kAddsQueries && !kSimple && guarded) clear_nonfinite_rows(index);
    if constexpr (kSeesBits<kPass>) {
      any_active = __any_sync(0xffffffffu, seen_bits != 0);
      active &= any_active;
      if (next.index < s.count) look_ahead(next);
      rules.select_head(p.problem, mask_bits(), sequence, now.head);
    }
    constexpr bool kRefills = Shape::kSecondStages == 1 && kKeySide;
    static_assert(kParts == 1 || (kAddsQueries && !kRefills));
#pragma unroll 1
    for (int turn = 0; turn < kParts; ++turn) {
      const int part = kPaired ? warp_of_pair() : turn;
      const auto first_part = part_of(first_tile(index), part);
      const auto second_part = part_of(second_tile(index), part);
      Accumulator weights[kRowTiles][kBlocks] = {};
      Accumulator grads[kRowTiles][kBlocks] = {};
      LoadedMask<GradientBlock> biases;
      if (active) {
        load_mask(*this, biases, row);
        multiply_rows<OwnedTile>(weights, first_left, depth_columns(first_part));
      }
      if constexpr (!kAddsQueries) {
        if (active) multiply_rows<OwnedTile>(grads, second_left, depth_columns(second_part));
        add_other_depth(weights[0]);
        add_other_depth(grads[0]);
        if (guarded) {
          __syncthreads();
          clear_nonfinite_rows(index);
        }
        if (Shape::kSecondStages == 1 && !kKeySide) {
          __syncthreads();
          stage_second<kPass>(s, next);
        }
      }
      if constexpr (kTakesMask<kPass>) wait_for_mask(*this, turn);
      if (active) {
        const int first_streamed = row + part * kPartRows;
        const auto first_key = [&](int r) { return kKeySide ? first_row + r * 16 : first_streamed; };
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          const int first_of_queries = kKeySide ? first_streamed : first_row + r * 16;
          if constexpr (kPass == GradientPass::biased) {
            add_mask(*this, weights[r], {r, index, part}, first_of_queries, first_key(r));
          } else if constexpr (kSimple) {
            if constexpr (kPass == GradientPass::masked) {
              rules.template hide_by_bits<kRows>(weights[r], first_of_queries, first_key(r), -kInfinity);
            }
            rules.template hide<kRows>(weights[r], first_of_queries, first_key(r), -kInfinity);
          } else {
            multiply_owned_factors(weights[r], r);
            multiply_streamed_factors(weights[r], index, part);
            apply_rules(*this, weights[r], {r, index, part}, first_of_queries, first_key(r), biases);
          }
        }
      }
      if constexpr (kTakesMask<kPass> && !kPaired) {
        __syncwarp();
        turn + 1 < kParts ? stage_mask(*this, s, now, part + 1) : stage_mask(*this, s, next, 0);
      }
      if (active) {
        const int first_of_keys = kKeySide ? first_row : row + part * kPartRows;
        const bool care = !kSimple && guarded;
        const bool drops = kPass == GradientPass::dropping || p.problem.dropout_p > 0;
        if (care) {
          if constexpr (kAddsQueries) multiply_rows<OwnedTile>(grads, second_left, second_part);
        } else if constexpr (kAddsQueries) {
          constexpr int kSteps = decltype(second_left)::kSteps;
          multiply_rows<OwnedTile>(grads, second_left, second_part, [&](int step) {
#pragma unroll
            for (int block = step * kBlocks / kSteps; block < (step + 1) * kBlocks / kSteps; ++block) {
#pragma unroll
              for (int r = 0; r < kRowTiles; ++r) weigh<kPass>(*this, weights[r][block], {r, index, part}, block);
            }
          });
        } else {
#pragma unroll
          for (int i = 0; i < kRowTiles * kBlocks; ++i) {
            weigh<kPass>(*this, weights[i / kBlocks][i % kBlocks], {i / kBlocks, index, part}, i % kBlocks);
          }
        }
#pragma unroll
        for (int r = 0; r < kRowTiles; ++r) {
          const ScorePlace place{r, index, part};
          if constexpr (kDraws<kPass>) {
            if (drops) {
              differentiate_and_drop(*this, weights[r], grads[r], place, first_of_keys + (kKeySide ? r * 16 : 0), care);
              continue;
            }
          }
          if (care) {
            differentiate_with_care(*this, weights[r], grads[r], place);
          } else {
            differentiate(*this, weights[r], grads[r], place);
          }
        }
      }
      if constexpr (kPaired) {
        memory.barriers.wait(Meeting::step_done, parity ^ 1);  // that of the step before
        if (Shape::kStages > 1) stage_first<kPass>(s, next);
      }
      Weights<T, kPartRows> score_gradients[kRowTiles];
#pragma unroll
      for (int r = 0; r < kRowTiles; ++r) {
        if constexpr (kAddsQueries) {
          score_gradients[r] = Weights<T, kPartRows>(grads[r]);
          share(*this, score_tile(), score_gradients[r], r, part);
        }
        if constexpr (kPaired) share(*this, weight_tile(), Weights<T, kPartRows>(weights[r]), r, part);
        if (!kSimple && (!kAddsQueries || streamed_factors() != nullptr)) {
          multiply_streamed_factors(grads[r], index, part);
          score_gradients[r] = Weights<T, kPartRows>(grads[r]);
        }
      }
      if constexpr (kPaired) memory.barriers.arrive(Meeting::scores_shared);
      if constexpr (kKeySide) {
        if (active) {
          Weights<T, kPartRows> left[kRowTiles];
#pragma unroll
          for (int r = 0; r < kRowTiles; ++r) left[r] = Weights<T, kPartRows>(weights[r]);
          multiply_weights<T>(second_sums, left, summed_columns(second_part));
        }
      }
      if (kRefills && !kPaired) {
        __syncthreads();
        stage_second<kPass>(s, next);
      }
      if (active) multiply_weights<T>(first_sums, score_gradients, summed_columns(first_part));
      if constexpr (kPaired) sum_scores_of_others<kPass>(*this, s, now, next, active, score_gradients);
    }
    if (kAddsQueries && !kRefills) __syncthreads();
    if constexpr (kAddsQueries) {
      if (any_active) add_to_queries(now, !kSimple && takes_back);
    }
    if constexpr (kPaired) memory.barriers.arrive(Meeting::step_done);
  }

  __device__ auto score_tile() const { return typename Shape::ScoreTile{shared_address(memory.score_gradients)}; }
  __device__ auto weight_tile() const { return typename Shape::ScoreTile{shared_address(memory.weights)}; }

  // What the owned keys give to dQ of a tile of queries.
  __device__ void add_to_queries(Step now, bool back) {
    static_assert(kStreamed == kSumRows);
    const int64_t head_slots = dense_row(sequence.batch, p.problem.heads, now.head, query_slots, query_slot);
    int32_t* to = p.query_sums + (head_slots + now.row / kSumRows) * (kSumRows * kWidth);
    add_query_gradients<T, kWidth, Shape::kWarps>(to, score_tile(), owned(0), query_side(now.index).to_fixed, back);
  }

  // Whether threads store something beside the copies, whose arrival says nothing about it.
  template <GradientPass kPass>
  __device__ bool stores_draws() const {
    return kPass == GradientPass::any ? p.problem.dropout_p > 0 : kPass == GradientPass::dropping;
  }

  template <GradientPass kPass>
  __device__ void meet_all(const Steps& s) {
    clear(first_sums);
    clear(second_sums);
    Step now = s.first_step();
    if (kSeesBits<kPass> && s.count > 0) look_ahead(now);
    if constexpr (kTakesMask<kPass>) stage_mask(*this, s, now, kPaired ? warp_of_pair() : 0);
    stage_first<kPass>(s, now);
    stage_second<kPass>(s, now);
    wait_copies();
    __syncthreads();
    if (kAddsQueries && kPass == GradientPass::any && guarded)
      clear_nonfinite<Shape::kThreads>(owned(0), memory.owned_nonfinite);
    first_left.take(depth_columns(owned(0)), first_row - first_owned);
    second_left.take(depth_columns(owned(1)), first_row - first_owned);
#pragma unroll 1
    while (now.index < s.count) {
      const Step next = s.template after<kStreamed>(now);
      if constexpr (kPaired) {
        memory.barriers.wait(Meeting::rows_landed, parity);
        if (stores_draws<kPass>()) __syncthreads();
      } else {
        wait_copies();
        __syncthreads();
        if (Shape::kStages > 1) stage_first<kPass>(s, next);
        if (Shape::kSecondStages > 1) stage_second<kPass>(s, next);
      }
      take<kPass>(s, now, next);
      parity ^= 1;
      if (Shape::kStages == 1 && !kPaired) {
        __syncthreads();
        stage_first<kPass>(s, next);
      }
      now = next;
    }
    __syncthreads();
  }

  __device__ void run() {
    const Steps s = steps_of<Shape>(rules, first_owned, head, group);
    stage_owned();
    if constexpr (kAddsQueries) {
      if constexpr (kPaired) {
        if (threadIdx.x == 0) memory.barriers.initialize();  // a barrier of all threads follows
      }
      meet_all_adding(s);
    } else {
      run_guarded<false>(guarded, [&] { meet_all<GradientPass::any>(s); }, [&] { return sums_are_finite(); });
    }
    store_gradients(*this);
  }

  __device__ bool sums_are_finite() const { return all_finite(first_sums) && all_finite(second_sums); }

  // What the first pass added to dQ is taken back before the guarded one adds it again: integers return to what they
  // were. Keys that are not finite spoil dQ without showing in the sums, so their blocks are guarded from the start.
  __device__ void meet_all_adding(const Steps& s) {
    const float* reciprocals =
        p.key_reciprocals + dense_row(sequence.batch, p.problem.kv_heads, head, p.problem.keys, sequence.first_key);
    bool spoils = false;
    for (int row = first_owned + threadIdx.x; row < min(first_owned + Shape::kOwned, rules.keys);
         row += Shape::kThreads) {
      spoils |= isnan(reciprocals[row]);
    }
    spoils = __syncthreads_or(spoils);
    const GradientPass pass = spoils ? GradientPass::any : simplest_pass(*this);
    if (pass != GradientPass::any) {
      meet_all_simply(s, pass);
      if (!__syncthreads_or(!sums_are_finite())) return;
      takes_back = true;
    }
    guarded = spoils;
#pragma unroll 1
    while (true) {
      meet_all<GradientPass::any>(s);
      if (guarded) break;
      if (takes_back) {
        takes_back = false;
        guarded = true;
      } else {
        if (!__syncthreads_or(!sums_are_finite())) break;
        takes_back = true;
      }
    }
  }
};

}  // namespace quest::kernels::cuda::portable
