// Fused forward: a task is a range of query rows of one head. Its keys are packed once; then blocks of twelve query
// rows meet blocks of keys, and no more than a block of probabilities exists at a time.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/forward.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/head-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

// With |logit| ≤ 60 exp stays far inside float's range without subtracting a maximum, and so does a sum of 2^30 of
// them.
constexpr float kBoundedLogit = 60.0F * kLog2E;

struct ForwardBuffers {
  float* factor;       // [D]
  float* queries;      // [rows, D]
  float* query_norms;  // [rows]
  float* key_rows;     // [kLanes, D], or all keys where the scores are few
  float* key_panels;
  float* values;         // [keys, Dv]
  float* probabilities;  // [kRowBlock, key block]
  float* output;         // [rows, Dv]
  float* row_max;        // [rows]
  float* row_sum;        // [rows]
};

struct ForwardTask {
  Head head;
  std::int64_t first;
  std::int64_t rows;
  std::int64_t keys;  // that any of these rows sees
  Steps key_blocks;
  std::int64_t score_stride;
  ForwardBuffers buffers;
  float most_key_norm = 0.0F;
  bool values_finite = true;
  bool few_scores;

  ForwardTask(const AttentionProblem& p, std::int64_t s, std::int64_t h, std::int64_t first_row, std::int64_t most_rows)
      : head(p, s, h),
        first(first_row),
        rows(std::min(most_rows, head.sequence.queries - first_row)),
        keys(head.causal.limit(first_row + rows - 1)),
        key_blocks(key_steps(keys, p.dim + p.value_dim, kPanelWidth)),
        score_stride(std::max<std::int64_t>(key_blocks.size, kPanelWidth)),
        few_scores(cpu::few_scores(head.sequence)) {}

  void take_buffers(Workspace& workspace) {
    const AttentionProblem& p = head.problem;
    const std::int64_t d = row_stride(p.dim);
    const std::int64_t dv = row_stride(p.value_dim);
    workspace.provide({{&buffers.factor, d},
                       {&buffers.queries, rows * d},
                       {&buffers.query_norms, rows},
                       {&buffers.key_rows, std::max(kLanes, kFewScores) * d},
                       {&buffers.key_panels, panels_floats(keys, p.dim)},
                       {&buffers.values, keys * dv},
                       {&buffers.probabilities, kRowBlock * score_stride},
                       {&buffers.output, rows * dv},
                       {&buffers.row_max, round_up(rows, kLanes)},
                       {&buffers.row_sum, round_up(rows, kLanes)}});
  }

  void pack() {
    const AttentionProblem& p = head.problem;
    head.query_factor(units_per_nat(p.mask.type), buffers.factor);
    pack_rows({p.type, p.dim, p.normalize_q, buffers.factor, true}, head.query(p.q, first), p.q.row_stride, rows,
              buffers.queries, nullptr, buffers.query_norms);
    const RowPacker keys_packer{p.type, p.dim, p.normalize_k, nullptr, !p.normalize_k};
    most_key_norm = p.normalize_k ? 1.0F : 0.0F;
    const std::int64_t d = row_stride(p.dim);
    for (std::int64_t j = 0; j < keys; j += kLanes) {
      float* rows_of_keys = buffers.key_rows + (few_scores ? j * d : 0);
      const PackedRows packed =
          pack_rows(keys_packer, head.key(p.k, j), p.k.row_stride, std::min(kLanes, keys - j), rows_of_keys);
      if (!(packed.most_norm <= most_key_norm)) most_key_norm = packed.most_norm;
      if (few_scores) continue;
      transpose_lanes(rows_of_keys, d, p.dim,
                      buffers.key_panels + j / kPanelWidth * kPanelWidth * p.dim + j % kPanelWidth);
    }
    values_finite = pack_rows({p.type, p.value_dim}, head.key(p.v, 0), p.v.row_stride, keys, buffers.values).finite;
  }

  // Cauchy-Schwarz: |logit| ≤ ‖q‖ max‖k‖, and ‖k‖ = 1 where keys are normalised.
  [[nodiscard]] bool is_bounded(std::int64_t row) const {
    return !is_additive(head.problem.mask.type) && buffers.query_norms[row] * most_key_norm <= kBoundedLogit;
  }

  // Turns a row of logits into unnormalised probabilities and updates the row's maximum, sum and output.
  void softmax_row(std::int64_t row, float* p, std::int64_t first_key, std::int64_t visible) const {
    const AttentionProblem& problem = head.problem;
    float& sum = buffers.row_sum[row];
    float& max = buffers.row_max[row];
    head.mask_row(first + row, first_key, p, visible);
    if (is_bounded(row)) {
      max = 0.0F;
      sum += problem.mask.type == MaskType::none ? exp_row<Range::safe>(p, visible, 0.0F)
                                                 : exp_row<Range::any>(p, visible, 0.0F);
    } else {
      const float new_max = std::max(max, max_row(p, visible));
      // No visible key so far, or NaN, which the exponential passes on.
      const float offset = new_max == -kInfinity ? 0.0F : new_max;
      const bool additive = is_additive(problem.mask.type);
      const float shrink = max == -kInfinity ? 0.0F : std::exp2((max - offset) * (additive ? kLog2E : 1.0F));
      if (first_key > 0 && shrink != 1.0F) {
        const std::int64_t dv = row_stride(problem.value_dim);
        scale_row(buffers.output + row * dv, dv, shrink);
      }
      sum = sum * shrink +
            (additive ? exp_row<Range::natural>(p, visible, offset) : exp_row<Range::any>(p, visible, offset));
      max = new_max;
    }
    if (problem.dropout_p > 0.0F) {
      drop_row(p, visible, head.dropout_row(first + row), first_key, problem.dropout_p);
    }
  }

  void row_block(std::int64_t row, std::int64_t first_key) const {
    const AttentionProblem& p = head.problem;
    const std::int64_t count = std::min(kRowBlock, rows - row);
    const std::int64_t seen = head.causal.limit(first + row + count - 1) - first_key;
    const std::int64_t block = std::min(key_blocks.size, seen);
    if (block <= 0) return;
    score_rows(buffers.queries + row * row_stride(p.dim), {buffers.key_rows, buffers.key_panels, p.dim, few_scores},
               first_key, block, buffers.probabilities, score_stride, count);
    for (std::int64_t r = 0; r < count; ++r) {
      float* scores = buffers.probabilities + r * score_stride;
      const std::int64_t visible = std::clamp<std::int64_t>(head.causal.limit(first + row + r) - first_key, 0, block);
      softmax_row(row + r, scores, first_key, visible);
      zero_row(scores, round_up(visible, kLanes), block);
    }
    const std::int64_t dv = row_stride(p.value_dim);
    const Matrices m{
        buffers.probabilities, score_stride, buffers.values + first_key * dv, dv, buffers.output + row * dv, dv, block,
        first_key > 0};
    if (values_finite) {
      gemm<Left::row_major>(m, count, row_columns(p.value_dim));
    } else {
      guarded_gemm<Left::row_major>(m, count, p.value_dim);
    }
  }

  void store(const ForwardOutputs& outputs) const {
    const AttentionProblem& p = head.problem;
    const std::int64_t dv = row_stride(p.value_dim);
    for (std::int64_t r = 0; r < rows; ++r) {
      const float sum = buffers.row_sum[r];
      scale_row(buffers.output + r * dv, dv, sum == 0.0F ? 0.0F : 1.0F / sum);
      store_output_row(p.type, outputs.out, head.sequence.batch, head.head, head.sequence.first_query + first + r,
                       buffers.output + r * dv, p.value_dim);
    }
    store_lse(outputs);
  }

  void store_lse(const ForwardOutputs& outputs) const {
    const Floats d;
    const auto unit = hn::Set(d, nats_per_unit(head.problem.mask.type));
    const std::int64_t at = head.query_row(first);
    for (std::int64_t r = 0; r < rows; r += kLanes) {
      const auto put = [&](hn::Vec<Floats> value, float* to) HWY_ATTR {
        rows - r < kLanes ? store_tail(value, to + at + r, rows - r) : store_floats(value, to + at + r);
      };
      const auto sum = hn::LoadU(d, buffers.row_sum + r);
      const auto max = hn::LoadU(d, buffers.row_max + r);
      const auto log_sum = hn::Log(d, sum);
      const auto value = hn::MulAdd(max, unit, log_sum);
      const auto sees_none = hn::Eq(sum, hn::Zero(d));
      const auto seen = hn::IfThenElse(sees_none, hn::Set(d, -kInfinity), value);
      put(hn::IfThenElse(hn::IsNaN(sum), sum, seen), outputs.lse);
      if (!is_additive(head.problem.mask.type)) continue;
      put(hn::IfThenZeroElse(sees_none, hn::Sub(log_sum, hn::Sub(value, max))), outputs.lse_low);
    }
  }

  void run(const ForwardOutputs& outputs) {
    const std::int64_t dv = row_stride(head.problem.value_dim);
    take_buffers(Workspace::of_this_thread());
    pack();
    std::fill_n(buffers.row_max, rows, -kInfinity);
    std::fill_n(buffers.row_sum, rows, 0.0F);
    for (std::int64_t b = 0; b < key_blocks.count; ++b) {
      for (std::int64_t row = 0; row < rows; row += kRowBlock) row_block(row, b * key_blocks.size);
    }
    // Rows before the first visible key were never written.
    for (std::int64_t r = 0; r < rows; ++r) {
      if (buffers.row_sum[r] == 0.0F) std::fill_n(buffers.output + r * dv, dv, 0.0F);
    }
    store(outputs);
  }
};

void forward_range(const AttentionProblem& p, const ForwardOutputs& outputs, std::int64_t begin, std::int64_t end) {
  const Steps steps = forward_row_steps(p);
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t step = task % steps.count;
    const std::int64_t pair = task / steps.count;
    const std::int64_t s = pair / p.heads;
    if (step * steps.size >= Sequence(p, s).queries) continue;
    ForwardTask(p, s, pair % p.heads, step * steps.size, steps.size).run(outputs);
  }
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(forward_range);

std::int64_t forward_tasks(const AttentionProblem& problem) {
  return problem.batch * problem.heads * forward_row_steps(problem).count;
}

void forward(const AttentionProblem& problem, const ForwardOutputs& outputs, std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(forward_range)(problem, outputs, begin, end);
}

}  // namespace quest::kernels::cpu
#endif
