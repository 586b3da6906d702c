// Statistics of attention, from a forward's log-sum-exp. A task is one (sequence, head), whose rows are visited in
// order: the mass a key receives is a sum over queries.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/statistics.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/recompute-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

struct StatisticsTask {
  const AttentionProblem& p;
  const StatisticsOutputs& outputs;
  Head head;
  Steps key_blocks;
  std::int64_t score_stride;
  PackedKeys keys{};
  QueryBlock queries{};
  float* logits = nullptr;
  float* probabilities = nullptr;
  float* mass = nullptr;         // [keys]
  float* row_max = nullptr;      // [kQueryBlock], in the queries' units
  float* row_entropy = nullptr;  // [kQueryBlock]

  StatisticsTask(const AttentionProblem& problem, const StatisticsOutputs& statistics, std::int64_t s, std::int64_t h)
      : p(problem),
        outputs(statistics),
        head(problem, s, h),
        key_blocks(key_steps(head.sequence.keys, p.dim, kPanelWidth)),
        score_stride(std::max<std::int64_t>(key_blocks.size, kPanelWidth)) {}

  void take_buffers(Workspace& workspace) {
    const std::int64_t d = row_stride(p.dim);
    const std::int64_t count = head.sequence.keys;
    workspace.provide({{&keys.panels, panels_floats(count, p.dim)},
                       {&keys.rows, round_up(count, kLanes) * d},
                       {&queries.factor, d},
                       {&queries.rows, kQueryBlock * d},
                       {&queries.lse, kQueryBlock},
                       {&queries.lse_low, kQueryBlock},
                       {&logits, kRowBlock * score_stride},
                       {&probabilities, kRowBlock * score_stride},
                       {&mass, round_up(count, kLanes)},
                       {&row_max, kQueryBlock},
                       {&row_entropy, kQueryBlock}});
    keys.norms = workspace.provide_doubles(count);
  }

  // Σ_j p_j (lse - logit_j) over one row, and p added to the mass.
  float gather_row(const float* logit, const float* prob, std::int64_t n, float lse, float* key_mass) const {
    const Floats d;
    const auto l = hn::Set(d, lse);
    auto entropy = hn::Zero(d);
    for (std::int64_t j = 0; j < n; j += kLanes) {
      const auto x = hn::LoadU(d, prob + j);
      const auto term = hn::Mul(x, hn::Sub(l, hn::LoadU(d, logit + j)));
      entropy = hn::Add(entropy, hn::IfThenZeroElse(hn::Eq(x, hn::Zero(d)), term));
      hn::StoreU(hn::Add(x, hn::LoadU(d, key_mass + j)), d, key_mass + j);
    }
    return sum_of(entropy);
  }

  void row_block(std::int64_t row, std::int64_t first_key) {
    const std::int64_t count = std::min(kRowBlock, queries.count - row);
    const std::int64_t block = std::min(key_blocks.size, head.sequence.keys - first_key);
    const Meeting meeting{head, keys, queries, row, count, first_key, block};
    meeting.logits(logits, score_stride);
    std::copy_n(logits, count * score_stride, probabilities);
    meeting.probabilities(probabilities, score_stride);
    for (std::int64_t r = 0; r < count; ++r) {
      const std::int64_t n = meeting.visible(r);
      const float* logit = logits + r * score_stride;
      row_max[row + r] = std::max(row_max[row + r], max_row(logit, n));
      row_entropy[row + r] +=
          gather_row(logit, probabilities + r * score_stride, n, queries.lse[row + r], mass + first_key);
    }
  }

  void query_block(std::int64_t first, std::int64_t count) {
    queries.pack(head, first, count, outputs);
    std::fill_n(row_max, count, -kInfinity);
    std::copy_n(queries.lse_low, count, row_entropy);  // the weights of that part sum to one
    for (std::int64_t b = 0; b < key_blocks.count; ++b) {
      for (std::int64_t row = 0; row < count; row += kRowBlock) row_block(row, b * key_blocks.size);
    }
    const std::int64_t at = head.query_row(first);
    const float unit = nats_per_unit(p.mask.type);
    for (std::int64_t r = 0; r < count; ++r) {
      outputs.max_logit[at + r] = row_max[r] * unit;
      // Rounding can carry a one-hot row below 0.
      outputs.entropy[at + r] = row_entropy[r] < 0.0F ? 0.0F : row_entropy[r] * unit;
    }
  }

  void norms(const Input& input, std::int64_t batch, std::int64_t input_head, std::int64_t first, std::int64_t count,
             float* to) {
    for (std::int64_t r = 0; r < count; ++r) {
      pack_rows({p.type, p.dim}, row_address(p.type, input, batch, input_head, first + r), input.row_stride, 1,
                queries.rows);
      to[r] = static_cast<float>(row_norm(queries.rows, row_stride(p.dim)));
    }
  }

  void run() {
    take_buffers(Workspace::of_this_thread());
    const Sequence& s = head.sequence;
    norms(p.q, s.batch, head.head, s.first_query, s.queries, outputs.q_norm + head.query_row(0));
    if (head.head % (p.heads / p.kv_heads) == 0) {
      float* to = outputs.k_norm + dense_row(s.batch, p.kv_heads, head.kv_head, p.keys, s.first_key);
      norms(p.k, s.batch, head.kv_head, s.first_key, s.keys, to);
      std::fill(to + s.keys, to + s.keys_stored, 0.0F);
    }
    keys.pack(head, s.keys);
    head.query_factor(units_per_nat(p.mask.type), queries.factor);
    std::fill_n(mass, round_up(s.keys, kLanes), 0.0F);
    for (std::int64_t row = 0; row < s.queries; row += kQueryBlock) {
      query_block(row, std::min(kQueryBlock, s.queries - row));
    }
    float* key_mass = outputs.key_mass + dense_row(s.batch, p.heads, head.head, p.keys, s.first_key);
    std::copy_n(mass, s.keys, key_mass);
    std::fill(key_mass + s.keys, key_mass + s.keys_stored, 0.0F);
  }
};

void statistics_range(const AttentionProblem& p, const StatisticsOutputs& outputs, std::int64_t begin,
                      std::int64_t end) {
  for (std::int64_t task = begin; task < end; ++task) {
    StatisticsTask(p, outputs, task / p.heads, task % p.heads).run();
  }
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(statistics_range);

std::int64_t statistics_tasks(const AttentionProblem& problem) { return problem.batch * problem.heads; }

void statistics(const AttentionProblem& problem, const StatisticsOutputs& outputs, std::int64_t begin,
                std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(statistics_range)(problem, outputs, begin, end);
}

}  // namespace quest::kernels::cpu
#endif
