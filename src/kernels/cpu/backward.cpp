// Fused backward. A task owns the dK and dV of one key head over a chunk of the query rows it serves; within it, blocks
// of queries meet blocks of keys, the probabilities are computed once and feed all three gradients.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/backward.cpp"
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

// The partial results between backward and its reduction: per key head and chunk dK then dV over all key rows, then
// per sequence, head and chunk the gain's gradient.
struct Partials {
  const AttentionProblem& p;
  BackwardPlan plan;
  std::int64_t key_rows;
  std::int64_t d;
  std::int64_t dv;

  explicit Partials(const AttentionProblem& problem)
      : p(problem),
        plan(problem),
        key_rows(plan.chunks > 1 ? total_key_rows(problem) : 0),
        d(row_stride(problem.dim)),
        dv(row_stride(problem.value_dim)) {}

  [[nodiscard]] std::int64_t keys_at(std::int64_t kv_head, std::int64_t chunk, std::int64_t row) const {
    return ((kv_head * plan.chunks + chunk) * key_rows + row) * (d + dv);
  }
  [[nodiscard]] std::int64_t gain_at(std::int64_t s, std::int64_t head, std::int64_t chunk) const {
    return keys_at(p.kv_heads, 0, 0) + ((s * p.heads + head) * plan.chunks + chunk) * d;
  }
  [[nodiscard]] std::int64_t floats(bool gain_gradient) const {
    return gain_gradient ? gain_at(p.batch, 0, 0) : keys_at(p.kv_heads, 0, 0);
  }
};

// From the sums over queries to the gradients of one key and value row.
void store_key_gradients(const Head& head, const BackwardArguments& a, std::int64_t key, float* grad_k, float* grad_v,
                         const float* unit_key, double norm) {
  const AttentionProblem& p = head.problem;
  const std::int64_t d = row_stride(p.dim);
  scale_row(grad_k, d, nats_per_unit(p.mask.type));
  if (p.normalize_k) project_row(grad_k, unit_key, d, norm);
  const Sequence& s = head.sequence;
  store_output_row(p.type, a.grad_k, s.batch, head.kv_head, s.first_key + key, grad_k, p.dim);
  store_output_row(p.type, a.grad_v, s.batch, head.kv_head, s.first_key + key, grad_v, p.value_dim);
}

void store_padding_gradients(const Head& head, const BackwardArguments& a, float* zeros) {
  const AttentionProblem& p = head.problem;
  const Sequence& s = head.sequence;
  if (s.keys == s.keys_stored) return;
  std::fill_n(zeros, std::max(row_stride(p.dim), row_stride(p.value_dim)), 0.0F);
  for (std::int64_t key = s.keys; key < s.keys_stored; ++key) {
    store_output_row(p.type, a.grad_k, s.batch, head.kv_head, s.first_key + key, zeros, p.dim);
    store_output_row(p.type, a.grad_v, s.batch, head.kv_head, s.first_key + key, zeros, p.value_dim);
  }
}

struct BackwardTask {
  const AttentionProblem& p;
  const BackwardArguments& a;
  const BackwardPlan& plan;
  std::int64_t s;
  std::int64_t kv_head;
  std::int64_t chunk;
  Sequence sequence;
  std::int64_t d;
  std::int64_t dv;
  Steps key_blocks;
  std::int64_t score_stride;
  PackedKeys keys{};
  QueryBlock queries{};
  float* few_value_rows = nullptr;
  float* grad_k = nullptr;
  float* grad_v = nullptr;
  float* grad_q = nullptr;
  float* probabilities = nullptr;
  float* grad_scores = nullptr;
  float* unit_queries = nullptr;
  float* plain_factor = nullptr;  // scale · gain
  float* scratch = nullptr;
  double* query_norms = nullptr;

  BackwardTask(const AttentionProblem& problem, const BackwardArguments& arguments, const BackwardPlan& backward_plan,
               std::int64_t sequence_index, std::int64_t key_head, std::int64_t chunk_index)
      : p(problem),
        a(arguments),
        plan(backward_plan),
        s(sequence_index),
        kv_head(key_head),
        chunk(chunk_index),
        sequence(problem, sequence_index),
        d(row_stride(problem.dim)),
        dv(row_stride(problem.value_dim)),
        key_blocks(key_steps(sequence.keys, 3 * p.dim + 2 * p.value_dim + 2 * kQueryBlock, kPanelWidth)),
        score_stride(std::max<std::int64_t>(key_blocks.size, kPanelWidth)) {}

  void take_buffers(Workspace& workspace) {
    const std::int64_t padded_keys = round_up(sequence.keys, kLanes);
    const std::int64_t unit_rows = p.normalize_q || a.grad_gain != nullptr ? kQueryBlock : 0;
    workspace.provide({{&keys.panels, panels_floats(sequence.keys, p.dim)},
                       {&keys.rows, padded_keys * d},
                       {&keys.value_panels, panels_floats(sequence.keys, p.value_dim)},
                       {&few_value_rows, few_scores(sequence) ? padded_keys * dv : 0},
                       {&queries.factor, d},
                       {&queries.rows, kQueryBlock * d},
                       {&queries.grad_out, kQueryBlock * dv},
                       {&queries.lse, kQueryBlock},
                       {&queries.lse_low, kQueryBlock},
                       {&queries.delta, kQueryBlock},
                       {&grad_k, padded_keys * d},
                       {&grad_v, padded_keys * dv},
                       {&grad_q, kQueryBlock * d},
                       {&probabilities, kQueryBlock * score_stride},
                       {&grad_scores, kQueryBlock * score_stride},
                       {&unit_queries, unit_rows * d},
                       {&plain_factor, d},
                       {&scratch, std::max(d, dv)}});
    double* norms = workspace.provide_doubles(sequence.keys + kQueryBlock);
    keys.norms = norms;
    query_norms = norms + sequence.keys;
  }

  template <Left kLeft>
  static void product(const Matrices& m, std::int64_t rows, std::int64_t dim, bool finite) {
    finite ? gemm<kLeft>(m, rows, row_columns(dim)) : guarded_gemm<kLeft>(m, rows, dim);
  }

  void row_block(const Head& head, std::int64_t row, std::int64_t first_key, std::int64_t block) {
    const std::int64_t count = std::min(kRowBlock, queries.count - row);
    const Meeting meeting{head, keys, queries, row, count, first_key, block};
    float* prob = probabilities + row * score_stride;
    float* ds = grad_scores + row * score_stride;
    meeting.logits(prob, score_stride);
    meeting.probabilities(prob, score_stride);
    meeting.gradients(prob, ds, score_stride);
    const std::int64_t seen = meeting.visible(count - 1);
    product<Left::row_major>({ds, score_stride, keys.rows + first_key * d, d, grad_q + row * d, d, seen, true}, count,
                             p.dim, keys.finite);
  }

  // dV += Pᵀ dO and dK += dSᵀ q̂ for one block of keys; a strip of keys starts at the first row that sees it.
  void key_block(const Head& head, std::int64_t first_key, std::int64_t block) {
    const std::int64_t strip = head.causal.active ? kRowBlock : block;
    for (std::int64_t j = 0; j < block; j += strip) {
      const std::int64_t row = std::max<std::int64_t>(head.causal.first_row(first_key + j) - queries.first, 0);
      const std::int64_t rows = queries.count - row;
      if (rows <= 0) return;
      const std::int64_t count = std::min(strip, block - j);
      const std::int64_t key = first_key + j;
      const std::int64_t at = row * score_stride + j;
      product<Left::column_major>(
          {probabilities + at, score_stride, queries.grad_out + row * dv, dv, grad_v + key * dv, dv, rows, true}, count,
          p.value_dim, queries.grad_out_finite);
      product<Left::column_major>(
          {grad_scores + at, score_stride, queries.rows + row * d, d, grad_k + key * d, d, rows, true}, count, p.dim,
          queries.queries_finite);
    }
  }

  // From dq̂ = dS k' to dq and the gain's gradient: q̂ = scale · gain ∘ q'.
  void store_query_gradients(const Head& head, float* grad_gain) {
    const bool want_unit = p.normalize_q || grad_gain != nullptr;
    if (want_unit) {
      pack_rows({p.type, p.dim, p.normalize_q}, head.query(p.q, queries.first), p.q.row_stride, queries.count,
                unit_queries, query_norms);
    }
    for (std::int64_t r = 0; r < queries.count; ++r) {
      float* grad = grad_q + r * d;
      const float* unit = unit_queries + r * d;
      if (grad_gain != nullptr && !is_zero_row(grad, d)) {
        for (std::int64_t i = 0; i < p.dim; ++i) grad_gain[i] += p.scale * unit[i] * grad[i];
      }
      multiply_row(grad, plain_factor, d);
      if (p.normalize_q) project_row(grad, unit, d, query_norms[r]);
      store_output_row(p.type, a.grad_q, sequence.batch, head.head, sequence.first_query + queries.first + r, grad,
                       p.dim);
    }
  }

  void query_block(const Head& head, std::int64_t first, std::int64_t count, float* grad_gain) {
    queries.pack(head, first, count, a);
    queries.pack_gradient(head, a.out, a.grad_out);
    std::fill_n(grad_q, count * d, 0.0F);
    const std::int64_t last_key = head.causal.limit(first + count - 1);
    for (std::int64_t key = 0; key < last_key; key += key_blocks.size) {
      const std::int64_t block = std::min(key_blocks.size, last_key - key);
      for (std::int64_t row = 0; row < count; row += kRowBlock) row_block(head, row, key, block);
      key_block(head, key, block);
    }
    store_query_gradients(head, grad_gain);
  }

  // The part of this chunk that belongs to one query head.
  void head_segment(std::int64_t member, std::int64_t begin, std::int64_t end) {
    const Head head(p, s, kv_head * plan.group + member);
    float* grad_gain = nullptr;
    if (a.grad_gain != nullptr) {
      grad_gain = a.workspace + Partials(p).gain_at(s, head.head, chunk);
      std::fill_n(grad_gain, d, 0.0F);
    }
    head.query_factor(units_per_nat(p.mask.type), queries.factor);
    head.query_factor(1.0F, plain_factor);
    const Steps steps(end - begin, kQueryBlock, kRowBlock);
    for (std::int64_t row = begin; row < end; row += steps.size) {
      query_block(head, row, std::min(steps.size, end - row), grad_gain);
    }
  }

  void run() {
    take_buffers(Workspace::of_this_thread());
    const Head any_head(p, s, kv_head * plan.group);
    keys.pack(any_head, sequence.keys);
    keys.pack_values(any_head, sequence.keys, few_scores(sequence) ? few_value_rows : grad_v);
    std::fill_n(grad_k, sequence.keys * d, 0.0F);
    std::fill_n(grad_v, sequence.keys * dv, 0.0F);
    for (std::int64_t member = 0; member < plan.group; ++member) {
      const std::int64_t first = chunk * plan.chunk_rows - member * p.longest_queries;
      const auto inside = [&](std::int64_t row) { return std::clamp<std::int64_t>(row, 0, sequence.queries); };
      head_segment(member, inside(first), inside(first + plan.chunk_rows));
    }
    plan.chunks == 1 ? finish(any_head) : keep_partial();
  }

  void finish(const Head& head) {
    for (std::int64_t key = 0; key < sequence.keys; ++key) {
      store_key_gradients(head, a, key, grad_k + key * d, grad_v + key * dv, keys.rows + key * d, keys.norms[key]);
    }
    store_padding_gradients(head, a, scratch);
  }

  void keep_partial() const {
    float* to = a.workspace + Partials(p).keys_at(kv_head, chunk, sequence.first_key_row);
    for (std::int64_t key = 0; key < sequence.keys; ++key, to += d + dv) {
      std::copy_n(grad_k + key * d, d, to);
      std::copy_n(grad_v + key * dv, dv, to + d);
    }
  }
};

void backward_range(const AttentionProblem& p, const BackwardArguments& a, std::int64_t begin, std::int64_t end) {
  const BackwardPlan plan(p);
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t pair = task / plan.chunks;
    BackwardTask(p, a, plan, pair / p.kv_heads, pair % p.kv_heads, task % plan.chunks).run();
  }
}

void reduce_keys(const AttentionProblem& p, const BackwardArguments& a, std::int64_t s, std::int64_t kv_head) {
  const Partials partials(p);
  const Head head(p, s, kv_head * partials.plan.group);
  const std::int64_t d = partials.d;
  const std::int64_t dv = partials.dv;
  Workspace& workspace = Workspace::of_this_thread();
  float* sums = nullptr;
  float* unit_key = nullptr;
  workspace.provide({{&sums, d + dv}, {&unit_key, d}});
  const Floats df;
  for (std::int64_t key = 0; key < head.sequence.keys; ++key) {
    for (std::int64_t i = 0; i < d + dv; i += kLanes) {
      auto sum = hn::Zero(df);
      for (std::int64_t chunk = 0; chunk < partials.plan.chunks; ++chunk) {
        const float* partial = a.workspace + partials.keys_at(kv_head, chunk, head.sequence.first_key_row + key);
        sum = hn::Add(sum, hn::LoadU(df, partial + i));
      }
      hn::StoreU(sum, df, sums + i);
    }
    double norm = 0.0;
    pack_rows({p.type, p.dim, p.normalize_k}, head.key(p.k, key), p.k.row_stride, 1, unit_key, &norm);
    store_key_gradients(head, a, key, sums, sums + d, unit_key, norm);
  }
  store_padding_gradients(head, a, sums);
}

void reduce_gain(const AttentionProblem& p, const BackwardArguments& a, std::int64_t head) {
  const Partials partials(p);
  for (std::int64_t i = 0; i < p.dim; ++i) {
    double sum = 0.0;
    for (std::int64_t s = 0; s < p.batch; ++s) {
      for (std::int64_t chunk = 0; chunk < partials.plan.chunks; ++chunk) {
        sum += a.workspace[partials.gain_at(s, head, chunk) + i];
      }
    }
    a.grad_gain[head * p.dim + i] = static_cast<float>(sum);
  }
}

std::int64_t partial_floats(const AttentionProblem& p, bool gain_gradient) { return Partials(p).floats(gain_gradient); }

void reduce_range(const AttentionProblem& p, const BackwardArguments& a, std::int64_t begin, std::int64_t end) {
  const std::int64_t gain_tasks = a.grad_gain != nullptr ? p.heads : 0;
  for (std::int64_t task = begin; task < end; ++task) {
    if (task < gain_tasks) {
      reduce_gain(p, a, task);
    } else {
      const std::int64_t pair = task - gain_tasks;
      reduce_keys(p, a, pair / p.kv_heads, pair % p.kv_heads);
    }
  }
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(backward_range);
HWY_EXPORT(reduce_range);
HWY_EXPORT(partial_floats);

std::int64_t backward_workspace(const AttentionProblem& problem, bool gain_gradient) {
  return HWY_DYNAMIC_DISPATCH(partial_floats)(problem, gain_gradient);
}

std::int64_t backward_tasks(const AttentionProblem& problem) {
  return problem.batch * problem.kv_heads * BackwardPlan(problem).chunks;
}

void backward(const AttentionProblem& problem, const BackwardArguments& arguments, std::int64_t begin,
              std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(backward_range)(problem, arguments, begin, end);
}

std::int64_t backward_reduce_tasks(const AttentionProblem& problem, bool gain_gradient) {
  return (gain_gradient ? problem.heads : 0) +
         (BackwardPlan(problem).chunks > 1 ? problem.batch * problem.kv_heads : 0);
}

void backward_reduce(const AttentionProblem& problem, const BackwardArguments& arguments, std::int64_t begin,
                     std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(reduce_range)(problem, arguments, begin, end);
}

}  // namespace quest::kernels::cpu
#endif
