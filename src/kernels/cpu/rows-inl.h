// Rows of a tensor as padded float32 rows: packing, L2 normalisation and its gradient, transposition.

#include <cmath>
#include <cstdint>

#if defined(QUEST_KERNELS_CPU_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_KERNELS_CPU_ROWS_INL_H_
#undef QUEST_KERNELS_CPU_ROWS_INL_H_
#else
#define QUEST_KERNELS_CPU_ROWS_INL_H_
#endif

#include "hwy/highway.h"
#include "kernels/cpu/gemm-inl.h"
#include "kernels/cpu/storage-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Leading dimension of a buffer of rows: whole vectors, zeros behind the last element.
HWY_INLINE std::int64_t row_stride(std::int64_t dim) { return round_up(dim, kLanes); }
// Columns a matrix product over such rows computes.
HWY_INLINE std::int64_t row_columns(std::int64_t dim) { return round_up(dim, kColumnUnit); }

HWY_INLINE float sum_of(hn::Vec<Floats> v) { return hn::GetLane(hn::SumOfLanes(Floats(), v)); }

HWY_INLINE float dot(const float* a, const float* b, std::int64_t stride) {
  const Floats d;
  auto sum = hn::Zero(d);
  for (std::int64_t i = 0; i < stride; i += kLanes) sum = hn::MulAdd(hn::LoadU(d, a + i), hn::LoadU(d, b + i), sum);
  return sum_of(sum);
}

// The same with a row that is not packed.
template <typename T>
HWY_INLINE float dot_stored(const T* stored, const float* row, std::int64_t dim) {
  const Floats d;
  auto sum = hn::Zero(d);
  std::int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) sum = hn::MulAdd(load_floats(stored + i), hn::LoadU(d, row + i), sum);
  if (i < dim) sum = hn::MulAdd(load_tail(stored + i, dim - i), hn::LoadU(d, row + i), sum);
  return sum_of(sum);
}

HWY_INLINE void scale_row(float* row, std::int64_t stride, float factor) {
  const Floats d;
  const auto f = hn::Set(d, factor);
  for (std::int64_t i = 0; i < stride; i += kLanes) hn::StoreU(hn::Mul(f, hn::LoadU(d, row + i)), d, row + i);
}

HWY_INLINE void multiply_row(float* row, const float* by, std::int64_t stride) {
  const Floats d;
  for (std::int64_t i = 0; i < stride; i += kLanes) {
    hn::StoreU(hn::Mul(hn::LoadU(d, by + i), hn::LoadU(d, row + i)), d, row + i);
  }
}

// The squares of such a row sum without leaving float's range.
HWY_INLINE bool is_ordinary(float squares) { return squares > 1e-30F && squares < 1e30F; }

// ‖row‖, exact to rounding for any row of floats.
HWY_INLINE double row_norm(const float* row, std::int64_t stride) {
  const float squares = dot(row, row, stride);
  if (is_ordinary(squares)) return std::sqrt(squares);
  double sum = 0.0;
  for (std::int64_t i = 0; i < stride; ++i) sum += static_cast<double>(row[i]) * row[i];
  return std::sqrt(sum);
}

// row /= ‖row‖ and returns the norm; a zero row stays. A row too large or too small for its squares is first brought
// to ordinary size by a power of two, so that scaling a row by one never changes a bit of the result.
HWY_INLINE double normalize_row(float* row, std::int64_t stride) {
  float squares = dot(row, row, stride);
  int exponent = 0;
  if (!is_ordinary(squares)) {
    float largest = 0.0F;
    for (std::int64_t i = 0; i < stride; ++i) largest = std::max(largest, std::abs(row[i]));
    if (largest == 0.0F && squares == 0.0F) return 0.0;
    if (largest > 0.0F && std::isfinite(largest)) {
      exponent = std::ilogb(largest);
      const double power = std::ldexp(1.0, -exponent);
      for (std::int64_t i = 0; i < stride; ++i) row[i] = static_cast<float>(row[i] * power);
      squares = dot(row, row, stride);
    }
  }
  const float norm = std::sqrt(squares);
  scale_row(row, stride, 1.0F / norm);
  return std::ldexp(static_cast<double>(norm), exponent);
}

HWY_INLINE bool is_zero_row(const float* row, std::int64_t stride) {
  const Floats d;
  auto any = hn::Zero(d);
  for (std::int64_t i = 0; i < stride; i += kLanes) any = hn::Or(any, hn::Abs(hn::LoadU(d, row + i)));
  return hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
}

// The gradient of x from that of x̄ = x/‖x‖: (dx̄ - x̄ (x̄·dx̄)) / ‖x‖, in place. A zero x has none, and a zero
// gradient stays zero whatever x holds.
HWY_INLINE void project_row(float* grad, const float* unit, std::int64_t stride, double norm) {
  const Floats d;
  if (is_zero_row(grad, stride)) return;
  if (norm == 0.0) {
    std::fill_n(grad, stride, 0.0F);
    return;
  }
  const auto along = hn::Set(d, dot(grad, unit, stride));
  for (std::int64_t i = 0; i < stride; i += kLanes) {
    hn::StoreU(hn::NegMulAdd(along, hn::LoadU(d, unit + i), hn::LoadU(d, grad + i)), d, grad + i);
  }
  const double inverse = 1.0 / norm;
  if (inverse > 1e-30 && inverse < 1e30) return scale_row(grad, stride, static_cast<float>(inverse));
  for (std::int64_t i = 0; i < stride; ++i) grad[i] = static_cast<float>(grad[i] * inverse);
}

// What packing learns about a block of rows.
struct PackedRows {
  float most_norm = 0.0F;  // of the rows as packed, where asked for; NaN or infinite when one of them is
  bool finite = true;
};

struct RowPacker {
  StorageType type;
  std::int64_t dim;
  bool normalize = false;
  const float* factor = nullptr;  // per dimension, applied after the normalisation
  bool want_norms = false;        // of the rows as packed
};

template <typename T>
HWY_INLINE hn::Vec<Floats> load_row(const T* from, std::int64_t dim, float* row, hn::Vec<Floats> nonfinite) {
  const Floats d;
  std::int64_t i = 0;
  for (; i + kLanes <= dim; i += kLanes) {
    const auto x = load_floats(from + i);
    nonfinite = hn::MulAdd(x, hn::Zero(d), nonfinite);
    hn::StoreU(x, d, row + i);
  }
  if (i < dim) {
    const auto x = load_tail(from + i, dim - i);
    nonfinite = hn::MulAdd(x, hn::Zero(d), nonfinite);
    hn::StoreU(x, d, row + i);
  }
  return nonfinite;
}

// Loads `count` rows as padded float32 rows. norms receives ‖x‖ of rows that are normalised, as stored.
HWY_INLINE PackedRows pack_rows(const RowPacker& packer, const void* first_row, std::int64_t input_stride,
                                std::int64_t count, float* rows, double* norms = nullptr,
                                float* packed_norms = nullptr) {
  const Floats d;
  const std::int64_t stride = row_stride(packer.dim);
  PackedRows result;
  auto nonfinite = hn::Zero(d);
  with_type(packer.type, first_row, [&](const auto* from) HWY_ATTR {
    for (std::int64_t r = 0; r < count; ++r) {
      nonfinite = load_row(from + r * input_stride, packer.dim, rows + r * stride, nonfinite);
    }
  });
  result.finite = sum_of(nonfinite) == 0.0F;
  for (std::int64_t r = 0; r < count; ++r) {
    float* row = rows + r * stride;
    if (packer.normalize) {
      const double norm = normalize_row(row, stride);
      if (norms != nullptr) norms[r] = norm;
    }
    if (packer.factor != nullptr) multiply_row(row, packer.factor, stride);
    if (packer.want_norms) {
      const auto norm = static_cast<float>(row_norm(row, stride));
      if (packed_norms != nullptr) packed_norms[r] = norm;
      if (!(norm <= result.most_norm)) result.most_norm = norm;
    }
  }
  return result;
}

// --- transposition into panels: columns of kPanelWidth rows, so that a product has its lanes along those rows ---

template <class D>
HWY_INLINE hn::Vec<D> load_blocks(D d, const float* from, std::int64_t stride) {
  if constexpr (hn::MaxLanes(D()) <= 4) {
    return hn::LoadU(d, from);
  } else {
    const hn::Half<D> dh;
    constexpr std::int64_t kHalfRows = hn::MaxLanes(D()) / 2;
    return hn::Combine(d, load_blocks(dh, from + kHalfRows * stride, stride), load_blocks(dh, from, stride));
  }
}

// kLanes rows; reads four columns at a time, which padded rows always have.
HWY_INLINE void transpose_lanes(const float* rows, std::int64_t stride, std::int64_t dim, float* panel) {
  const Floats d;
  const hn::Repartition<double, Floats> dd;
  for (std::int64_t c = 0; c < dim; c += 4) {
    const auto a = load_blocks(d, rows + c, stride);
    const auto b = load_blocks(d, rows + stride + c, stride);
    const auto e = load_blocks(d, rows + 2 * stride + c, stride);
    const auto f = load_blocks(d, rows + 3 * stride + c, stride);
    const auto ab_low = hn::BitCast(dd, hn::InterleaveLower(d, a, b));
    const auto ab_high = hn::BitCast(dd, hn::InterleaveUpper(d, a, b));
    const auto ef_low = hn::BitCast(dd, hn::InterleaveLower(d, e, f));
    const auto ef_high = hn::BitCast(dd, hn::InterleaveUpper(d, e, f));
    float* to = panel + c * kPanelWidth;
    hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab_low, ef_low)), d, to);
    if (c + 1 < dim) hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab_low, ef_low)), d, to + kPanelWidth);
    if (c + 2 < dim) hn::StoreU(hn::BitCast(d, hn::InterleaveLower(dd, ab_high, ef_high)), d, to + 2 * kPanelWidth);
    if (c + 3 < dim) hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(dd, ab_high, ef_high)), d, to + 3 * kPanelWidth);
  }
}

// rows must be readable up to the next multiple of kLanes rows.
HWY_INLINE void transpose_to_panels(const float* rows, std::int64_t count, std::int64_t dim, float* panels) {
  const std::int64_t stride = row_stride(dim);
  for (std::int64_t r = 0; r < count; r += kLanes) {
    float* panel = panels + r / kPanelWidth * kPanelWidth * dim + r % kPanelWidth;
    transpose_lanes(rows + r * stride, stride, dim, panel);
  }
}

HWY_INLINE std::int64_t panels_floats(std::int64_t rows, std::int64_t dim) { return round_up(rows, kPanelWidth) * dim; }

// The right-hand side of scores: rows as packed, and as panels unless the scores are few.
struct ScoreColumns {
  const float* rows;
  const float* panels;
  std::int64_t dim;
  bool few;
};

// scores[rows × count] = A[rows × dim] · columnsᵀ, columns starting at `first`, a multiple of kPanelWidth.
HWY_INLINE void score_rows(const float* a, const ScoreColumns& columns, std::int64_t first, std::int64_t count,
                           float* scores, std::int64_t ld_scores, std::int64_t rows) {
  const std::int64_t dim = columns.dim;
  const std::int64_t stride = row_stride(dim);
  if (columns.few) {
    for (std::int64_t r = 0; r < rows; ++r) {
      for (std::int64_t j = 0; j < count; ++j) {
        scores[r * ld_scores + j] = dot(a + r * stride, columns.rows + (first + j) * stride, stride);
      }
    }
    return;
  }
  for (std::int64_t j = 0; j < count; j += kPanelWidth) {
    const Matrices m{a, stride, columns.panels + (first + j) * dim, kPanelWidth, scores + j, ld_scores, dim, false};
    gemm<Left::row_major>(m, rows, std::min(kPanelWidth, count - j));
  }
}

}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
