// What every pass after the forward shares: keys packed both ways, a block of queries, and the probabilities and their
// gradients computed anew from the log-sum-exp.

#include <cmath>
#include <cstdint>

#if defined(QUEST_KERNELS_CPU_RECOMPUTE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_RECOMPUTE_INL_H_
#undef QUEST_KERNELS_CPU_RECOMPUTE_INL_H_
#else
#define QUEST_KERNELS_CPU_RECOMPUTE_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/head-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Query rows handled together: dK and dV are read and written once per so many rows.
constexpr std::int64_t kQueryBlock = 96;

struct PackedKeys {
  float* panels;        // k' transposed
  float* rows;          // k'
  float* value_panels;  // v transposed
  double* norms;        // ‖k‖ where keys are normalised
  bool finite = true;
  bool few_scores = false;  // then no panels, and the values' rows stay where pack_values put them
  const float* value_rows = nullptr;

  void pack(const Head& head, std::int64_t keys) {
    const AttentionProblem& p = head.problem;
    few_scores = cpu::few_scores(head.sequence);
    finite = pack_rows({p.type, p.dim, p.normalize_k}, head.key(p.k, 0), p.k.row_stride, keys, rows, norms).finite;
    if (!few_scores) transpose_to_panels(rows, keys, p.dim, panels);
  }

  // `to` receives the values' rows, which only few scores need afterwards.
  void pack_values(const Head& head, std::int64_t keys, float* to) {
    const AttentionProblem& p = head.problem;
    pack_rows({p.type, p.value_dim}, head.key(p.v, 0), p.v.row_stride, keys, to);
    value_rows = to;
    if (!few_scores) transpose_to_panels(to, keys, p.value_dim, value_panels);
  }
};

struct QueryBlock {
  float* factor;    // unit · scale · gain, where unit is as units_per_nat says
  float* rows;      // factor · q', so that logits come out in those units
  float* grad_out;  // dO
  float* lse;       // likewise; +inf for a row that sees no key, whose probabilities are then 0
  float* lse_low;   // 0 unless the mask is additive
  float* delta;     // dO·O
  std::int64_t first;
  std::int64_t count;
  bool queries_finite = true;
  bool grad_out_finite = true;

  // `given` has the log-sum-exp of the forward.
  template <typename Given>
  void pack(const Head& head, std::int64_t first_row, std::int64_t row_count, const Given& given) {
    const AttentionProblem& p = head.problem;
    first = first_row;
    count = row_count;
    queries_finite =
        pack_rows({p.type, p.dim, p.normalize_q, factor}, head.query(p.q, first), p.q.row_stride, count, rows).finite;
    const float* forward_lse = given.lse + head.query_row(first);
    const float unit = units_per_nat(p.mask.type);
    for (std::int64_t r = 0; r < count; ++r) {
      lse[r] = forward_lse[r] == -kInfinity ? kInfinity : forward_lse[r] * unit;
    }
    if (is_additive(p.mask.type)) {
      std::copy_n(given.lse_low + head.query_row(first), count, lse_low);
    } else {
      std::fill_n(lse_low, count, 0.0F);
    }
  }

  void pack_gradient(const Head& head, const Input& out, const Input& gradient) {
    const AttentionProblem& p = head.problem;
    const std::int64_t stride = row_stride(p.value_dim);
    grad_out_finite =
        pack_rows({p.type, p.value_dim}, head.query(gradient, first), gradient.row_stride, count, grad_out).finite;
    with_type(p.type, head.query(out, first), [&](const auto* o) HWY_ATTR {
      for (std::int64_t r = 0; r < count; ++r) {
        delta[r] = dot_stored(o + r * out.row_stride, grad_out + r * stride, p.value_dim);
      }
    });
  }
};

// Where a block of rows meets a block of keys: rows [row, row + count) of the query block, keys [first_key, + keys).
struct Meeting {
  const Head& head;
  const PackedKeys& keys;
  const QueryBlock& queries;
  std::int64_t row;
  std::int64_t count;
  std::int64_t first_key;
  std::int64_t block;

  [[nodiscard]] std::int64_t visible(std::int64_t r) const {
    return std::clamp<std::int64_t>(head.causal.limit(queries.first + row + r) - first_key, 0, block);
  }

  // logits[count × block], masked, in the queries' units. Those no order allows are left undefined.
  void logits(float* p, std::int64_t ld) const {
    const AttentionProblem& problem = head.problem;
    const std::int64_t d = row_stride(problem.dim);
    const std::int64_t seen = visible(count - 1);
    score_rows(queries.rows + row * d, {keys.rows, keys.panels, problem.dim, keys.few_scores}, first_key, seen, p, ld,
               count);
    for (std::int64_t r = 0; r < count; ++r) {
      head.mask_row(queries.first + row + r, first_key, p + r * ld, visible(r));
    }
  }

  // Turns those logits into probabilities, 0 where order hides the key, up to the end of the block.
  void probabilities(float* p, std::int64_t ld) const {
    const bool clamp = is_additive(head.problem.mask.type);
    for (std::int64_t r = 0; r < count; ++r) {
      const float lse = queries.lse[row + r];
      const std::int64_t n = visible(r);
      if (std::isnan(lse)) {
        nan_row(p + r * ld, n);
      } else {
        clamp ? exp_row<Range::clamped>(p + r * ld, n, lse, queries.lse_low[row + r])
              : exp_row<Range::any>(p + r * ld, n, lse);
      }
      zero_row(p + r * ld, round_up(n, kLanes), block);
    }
  }

  // ds = p ∘ (f ∘ dO Vᵀ - Δ) with f the dropout factors, and p becomes f ∘ p. A probability of 0 has no gradient
  // whatever the value holds.
  void gradients(float* p, float* ds, std::int64_t ld) const {
    const AttentionProblem& problem = head.problem;
    const Floats d;
    const std::int64_t dv = row_stride(problem.value_dim);
    const std::int64_t seen = visible(count - 1);
    score_rows(queries.grad_out + row * dv, {keys.value_rows, keys.value_panels, problem.value_dim, keys.few_scores},
               first_key, seen, ds, ld, count);
    for (std::int64_t r = 0; r < count; ++r) {
      const auto delta = hn::Set(d, queries.delta[row + r]);
      float* pr = p + r * ld;
      float* dsr = ds + r * ld;
      const std::int64_t n = round_up(visible(r), kLanes);
      if (problem.dropout_p > 0.0F) {
        const DropoutRow stream = head.dropout_row(queries.first + row + r);
        for (std::int64_t j = 0; j < n; j += kLanes) {
          const auto factor = dropout_factor(d, stream, static_cast<std::uint32_t>(first_key + j), problem.dropout_p);
          const auto x = hn::LoadU(d, pr + j);
          const auto g = hn::Mul(x, hn::MulSub(factor, hn::LoadU(d, dsr + j), delta));
          hn::StoreU(hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), g), d, dsr + j);
          hn::StoreU(hn::Mul(x, factor), d, pr + j);
        }
      } else {
        for (std::int64_t j = 0; j < n; j += kLanes) {
          const auto x = hn::LoadU(d, pr + j);
          const auto g = hn::Mul(x, hn::Sub(hn::LoadU(d, dsr + j), delta));
          hn::StoreU(hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), g), d, dsr + j);
        }
      }
      zero_row(dsr, n, block);
    }
  }
};

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
