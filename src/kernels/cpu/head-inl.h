// One (sequence, head) of a problem as a kernel sees it: where its rows lie and how queries and keys are packed.

#include <cstdint>

#if defined(QUEST_KERNELS_CPU_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_HEAD_INL_H_
#undef QUEST_KERNELS_CPU_HEAD_INL_H_
#else
#define QUEST_KERNELS_CPU_HEAD_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/rows-inl.h"
#include "kernels/cpu/softmax-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

template <typename Void>
HWY_INLINE Void* row_address(StorageType type, const HeadMatrix<Void*>& m, std::int64_t batch, std::int64_t head,
                             std::int64_t row) {
  using Byte = std::conditional_t<std::is_const_v<Void>, const char, char>;
  const std::int64_t bytes = type == StorageType::float32 ? 4 : 2;
  return static_cast<Byte*>(m.data) + bytes * (batch * m.batch_stride + head * m.head_stride + row * m.row_stride);
}

HWY_INLINE void store_output_row(StorageType type, const Output& m, std::int64_t batch, std::int64_t head,
                                 std::int64_t row, const float* values, std::int64_t dim) {
  with_type(type, row_address(type, m, batch, head, row), [&](auto* to) HWY_ATTR { store_row(values, to, dim); });
}

struct Head {
  const AttentionProblem& problem;
  Sequence sequence;
  std::int64_t head;
  std::int64_t kv_head;
  CausalLimit causal;

  Head(const AttentionProblem& p, std::int64_t s, std::int64_t h)
      : problem(p), sequence(p, s), head(h), kv_head(h / (p.heads / p.kv_heads)), causal(p.causal, sequence) {}

  [[nodiscard]] DropoutRow dropout_row(std::int64_t row) const {
    return {problem.dropout_seed, sequence.index, head, row};
  }
  [[nodiscard]] std::int64_t query_row(std::int64_t row) const {
    return dense_row(sequence.batch, problem.heads, head, problem.queries, sequence.first_query + row);
  }
  [[nodiscard]] const void* query(const Input& m, std::int64_t row) const {
    return row_address(problem.type, m, sequence.batch, head, sequence.first_query + row);
  }
  [[nodiscard]] const void* key(const Input& m, std::int64_t row) const {
    return row_address(problem.type, m, sequence.batch, kv_head, sequence.first_key + row);
  }
  void mask_row(std::int64_t row, std::int64_t first_key, float* p, std::int64_t n) const {
    apply_mask(problem.mask, sequence.batch, head, row, first_key, p, n);
  }

  // factor[d] = unit · scale · gain[h, d], padded with zeros.
  void query_factor(float unit, float* factor) const {
    std::fill(factor + problem.dim, factor + row_stride(problem.dim), 0.0F);
    std::fill_n(factor, problem.dim, unit * problem.scale);
    if (problem.gain == nullptr) return;
    const float* gain = problem.gain + head * problem.gain_head_stride;
    for (std::int64_t d = 0; d < problem.dim; ++d) factor[d] *= gain[d * problem.gain_dim_stride];
  }
};

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
