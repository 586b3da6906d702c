// Gradient of an additive mask: dS summed over the dimensions along which the mask is broadcast. A task owns a range of
// the mask's rows and visits every (batch, head) that uses them in order, so no two threads add to one element.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/mask_backward.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "kernels/cpu/attention.h"
#include "kernels/cpu/recompute-inl.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace {

struct MaskBackwardTask {
  const AttentionProblem& p;
  const BackwardArguments& a;
  const MaskGradient& gradient;
  std::int64_t d;
  std::int64_t dv;
  Steps key_blocks;
  std::int64_t score_stride;
  PackedKeys keys{};
  QueryBlock queries{};
  float* values = nullptr;
  float* probabilities = nullptr;
  float* grad_scores = nullptr;

  MaskBackwardTask(const AttentionProblem& problem, const BackwardArguments& arguments, const MaskGradient& mask)
      : p(problem),
        a(arguments),
        gradient(mask),
        d(row_stride(problem.dim)),
        dv(row_stride(problem.value_dim)),
        key_blocks(key_steps(problem.keys, p.dim + p.value_dim, kPanelWidth)),
        score_stride(std::max<std::int64_t>(key_blocks.size, kPanelWidth)) {
    const std::int64_t padded_keys = round_up(p.keys, kLanes);
    Workspace& workspace = Workspace::of_this_thread();
    workspace.provide({{&keys.panels, panels_floats(p.keys, p.dim)},
                       {&keys.rows, padded_keys * d},
                       {&keys.value_panels, panels_floats(p.keys, p.value_dim)},
                       {&queries.factor, d},
                       {&queries.rows, kQueryBlock * d},
                       {&queries.grad_out, kQueryBlock * dv},
                       {&queries.lse, kQueryBlock},
                       {&queries.lse_low, kQueryBlock},
                       {&queries.delta, kQueryBlock},
                       {&values, padded_keys * dv},
                       {&probabilities, kRowBlock * score_stride},
                       {&grad_scores, kRowBlock * score_stride}});
    keys.norms = workspace.provide_doubles(p.keys);
  }

  [[nodiscard]] float* gradient_row(std::int64_t batch, std::int64_t head, std::int64_t row) const {
    const std::int64_t b = gradient.mask_batch == 1 ? 0 : batch;
    const std::int64_t h = gradient.mask_heads == 1 ? 0 : head;
    const std::int64_t r = gradient.mask_rows == 1 ? 0 : row;
    return gradient.data + dense_row(b, gradient.mask_heads, h, gradient.mask_rows, r) * p.keys;
  }

  void row_block(const Head& head, std::int64_t row, std::int64_t first_key) {
    const std::int64_t count = std::min(kRowBlock, queries.count - row);
    const std::int64_t block = std::min(key_blocks.size, head.sequence.keys - first_key);
    if (block <= 0) return;
    const Meeting meeting{head, keys, queries, row, count, first_key, block};
    meeting.logits(probabilities, score_stride);
    meeting.probabilities(probabilities, score_stride);
    meeting.gradients(probabilities, grad_scores, score_stride);
    for (std::int64_t r = 0; r < count; ++r) {
      float* to = gradient_row(head.sequence.batch, head.head, queries.first + row + r) + first_key;
      for (std::int64_t j = 0; j < block; ++j) to[j] += grad_scores[r * score_stride + j];
    }
  }

  void head_rows(const Head& head, std::int64_t begin, std::int64_t end) {
    keys.pack(head, head.sequence.keys);
    keys.pack_values(head, head.sequence.keys, values);
    head.query_factor(units_per_nat(p.mask.type), queries.factor);
    for (std::int64_t first = begin; first < end; first += kQueryBlock) {
      queries.pack(head, first, std::min(kQueryBlock, end - first), a);
      queries.pack_gradient(head, a.out, a.grad_out);
      for (std::int64_t b = 0; b < key_blocks.count; ++b) {
        for (std::int64_t row = 0; row < queries.count; row += kRowBlock) row_block(head, row, b * key_blocks.size);
      }
    }
  }

  // Rows [begin, end) of the queries, for every batch and head that shares the mask's (batch, head).
  void run(std::int64_t mask_batch, std::int64_t mask_head, std::int64_t begin, std::int64_t end) {
    const std::int64_t mask_end = gradient.mask_rows == 1 ? begin + 1 : end;
    for (std::int64_t row = begin; row < mask_end; ++row) {
      std::fill_n(gradient_row(mask_batch, mask_head, row), p.keys, 0.0F);
    }
    for (std::int64_t b = 0; b < p.batch; ++b) {
      if (gradient.mask_batch > 1 && b != mask_batch) continue;
      for (std::int64_t h = 0; h < p.heads; ++h) {
        if (gradient.mask_heads == 1 || h == mask_head) head_rows(Head(p, b, h), begin, end);
      }
    }
  }
};

Steps mask_row_steps(const AttentionProblem& p, const MaskGradient& gradient) {
  return {p.queries, gradient.mask_rows == 1 ? p.queries : kQueryBlock, 1};
}

std::int64_t task_count(const AttentionProblem& p, const MaskGradient& gradient) {
  return gradient.mask_batch * gradient.mask_heads * mask_row_steps(p, gradient).count;
}

void mask_backward_range(const AttentionProblem& p, const BackwardArguments& a, const MaskGradient& gradient,
                         std::int64_t begin, std::int64_t end) {
  const Steps steps = mask_row_steps(p, gradient);
  if (steps.count == 0) return;
  for (std::int64_t task = begin; task < end; ++task) {
    const std::int64_t pair = task / steps.count;
    const std::int64_t row = task % steps.count * steps.size;
    MaskBackwardTask(p, a, gradient)
        .run(pair / gradient.mask_heads, pair % gradient.mask_heads, row, std::min(row + steps.size, p.queries));
  }
}

}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(task_count);
HWY_EXPORT(mask_backward_range);

std::int64_t mask_backward_tasks(const AttentionProblem& problem, const MaskGradient& gradient) {
  return HWY_DYNAMIC_DISPATCH(task_count)(problem, gradient);
}

void mask_backward(const AttentionProblem& problem, const BackwardArguments& arguments, const MaskGradient& gradient,
                   std::int64_t begin, std::int64_t end) {
  HWY_DYNAMIC_DISPATCH(mask_backward_range)(problem, arguments, gradient, begin, end);
}

}  // namespace quest::kernels::cpu
#endif
