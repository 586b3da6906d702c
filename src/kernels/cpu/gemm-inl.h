// The one matrix product of every kernel here: C[m × n] (+)= A[m × k] · B[k × n], C and B row-major with the lanes of
// a vector along n, the scalars of A broadcast. A tile of C lives in registers while k runs.

#include <cstddef>
#include <cstdint>

#if defined(QUEST_KERNELS_CPU_GEMM_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_GEMM_INL_H_
#undef QUEST_KERNELS_CPU_GEMM_INL_H_
#else
#define QUEST_KERNELS_CPU_GEMM_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/schedule.h"
#include "kernels/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using HalfFloats = hn::Half<Floats>;

// n is padded to half vectors: a head dimension of 20 or 24 does not pay for 32.
constexpr std::int64_t kColumnUnit = kLanes / 2 < 4 ? 4 : kLanes / 2;

// 32 vector registers hold 24 accumulators, 16 hold 12.
constexpr bool kManyRegisters = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON;
constexpr int kMostVectors = kManyRegisters ? 4 : 2;
constexpr std::int64_t kPanelWidth = kMostVectors * kLanes;

enum class Left { row_major, column_major };

struct Matrices {
  const float* a;
  std::int64_t lda;  // between rows of A (row_major) or between its columns (column_major)
  const float* b;
  std::int64_t ldb;
  float* c;
  std::int64_t ldc;
  std::int64_t k;
  bool accumulate;
};

// The loops over rows and vectors are unrolled by force: the compiler keeps the sums in registers only then.
template <Left kLeft, int kRows, int kVectors, bool kHalf>
HWY_INLINE void tile(const float* a, std::int64_t lda, const float* b, std::int64_t ldb, float* c, std::int64_t ldc,
                     std::int64_t k, bool accumulate) {
  const Floats d;
  const HalfFloats dh;
  constexpr int kSums = kVectors > 0 ? kVectors : 1;
  hn::Vec<Floats> sum[kRows][kSums];
  hn::Vec<HalfFloats> half_sum[kRows];
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Zero(d);
    if constexpr (kHalf) half_sum[r] = hn::Zero(dh);
  }
  const std::int64_t row_step = kLeft == Left::row_major ? lda : 1;
  const std::int64_t k_step = kLeft == Left::row_major ? 1 : lda;
  for (std::int64_t i = 0; i < k; ++i, a += k_step, b += ldb) {
    hn::Vec<Floats> right[kSums];
    hn::Vec<HalfFloats> half_right = hn::Zero(dh);
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) right[v] = hn::LoadU(d, b + v * kLanes);
    if constexpr (kHalf) half_right = hn::LoadU(dh, b + kVectors * kLanes);
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      const auto left = hn::Set(d, a[r * row_step]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(left, right[v], sum[r][v]);
      if constexpr (kHalf) half_sum[r] = hn::MulAdd(hn::LowerHalf(dh, left), half_right, half_sum[r]);
    }
  }
  if (accumulate) {
#pragma GCC unroll 12
    for (int r = 0; r < kRows; ++r) {
      float* to = c + r * ldc;
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sum[r][v] = hn::Add(sum[r][v], hn::LoadU(d, to + v * kLanes));
      if constexpr (kHalf) half_sum[r] = hn::Add(half_sum[r], hn::LoadU(dh, to + kVectors * kLanes));
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < kRows; ++r) {
    float* to = c + r * ldc;
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[r][v], d, to + v * kLanes);
    if constexpr (kHalf) hn::StoreU(half_sum[r], dh, to + kVectors * kLanes);
  }
}

// All rows of up to kMostVectors vectors of columns.
template <Left kLeft, int kVectors, bool kHalf>
HWY_NOINLINE void column_strip(Matrices m, std::int64_t rows, std::int64_t column) {
  constexpr int kTall = kManyRegisters && kVectors + (kHalf ? 1 : 0) <= 2 ? 12 : 6;
  const std::int64_t a_row = kLeft == Left::row_major ? m.lda : 1;
  std::int64_t row = 0;
  const auto run = [&]<int kRows>(std::integral_constant<int, kRows>) {
    tile<kLeft, kRows, kVectors, kHalf>(m.a + row * a_row, m.lda, m.b + column, m.ldb, m.c + row * m.ldc + column,
                                        m.ldc, m.k, m.accumulate);
    row += kRows;
  };
  while (row + kTall <= rows) run(std::integral_constant<int, kTall>{});
  if (row + 6 <= rows) run(std::integral_constant<int, 6>{});
  switch (rows - row) {
    case 5:
      return run(std::integral_constant<int, 5>{});
    case 4:
      return run(std::integral_constant<int, 4>{});
    case 3:
      return run(std::integral_constant<int, 3>{});
    case 2:
      return run(std::integral_constant<int, 2>{});
    case 1:
      return run(std::integral_constant<int, 1>{});
    default:
      return;
  }
}

// B must be readable and C writable up to the next multiple of kColumnUnit columns.
template <Left kLeft>
HWY_INLINE void gemm(const Matrices& m, std::int64_t rows, std::int64_t columns) {
  std::int64_t column = 0;
  for (; column + kPanelWidth <= columns; column += kPanelWidth)
    column_strip<kLeft, kMostVectors, false>(m, rows, column);
  const std::int64_t halves = ceil_div(columns - column, kLanes / 2);
  if constexpr (kMostVectors == 4) {
    if (halves == 7) return column_strip<kLeft, 3, true>(m, rows, column);
    if (halves == 6) return column_strip<kLeft, 3, false>(m, rows, column);
    if (halves == 5) return column_strip<kLeft, 2, true>(m, rows, column);
    if (halves == 4) return column_strip<kLeft, 2, false>(m, rows, column);
    if (halves == 8) return column_strip<kLeft, 4, false>(m, rows, column);
  }
  if (halves == 4) return column_strip<kLeft, 2, false>(m, rows, column);
  if (halves == 3) return column_strip<kLeft, 1, true>(m, rows, column);
  if (halves == 2) return column_strip<kLeft, 1, false>(m, rows, column);
  if (halves == 1) return column_strip<kLeft, 0, true>(m, rows, column);
}

// The same product with 0 · anything = 0: used when an operand holds NaN or infinity, so that a masked-out position
// with probability 0 contributes nothing whatever it holds.
template <Left kLeft>
HWY_NOINLINE void guarded_gemm(const Matrices& m, std::int64_t rows, std::int64_t columns) {
  const std::int64_t row_step = kLeft == Left::row_major ? m.lda : 1;
  const std::int64_t k_step = kLeft == Left::row_major ? 1 : m.lda;
  for (std::int64_t r = 0; r < rows; ++r) {
    float* c = m.c + r * m.ldc;
    if (!m.accumulate) std::fill_n(c, columns, 0.0F);
    for (std::int64_t k = 0; k < m.k; ++k) {
      const float left = m.a[r * row_step + k * k_step];
      if (left == 0.0F) continue;
      for (std::int64_t n = 0; n < columns; ++n) {
        const float right = m.b[k * m.ldb + n];
        if (right != 0.0F) c[n] += left * right;
      }
    }
  }
}

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
