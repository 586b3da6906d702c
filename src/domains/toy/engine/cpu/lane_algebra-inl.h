// Matrices whose every element is a vector with one model per lane. Included once per instruction set.

#include <cstdint>

#if defined(QUEST_TOY_LANE_ALGEBRA_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_TOY_LANE_ALGEBRA_INL_H_
#undef QUEST_TOY_LANE_ALGEBRA_INL_H_
#else
#define QUEST_TOY_LANE_ALGEBRA_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace quest::toy::engine::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using LaneTag = hn::ScalableTag<float>;
using LaneVector = hn::Vec<LaneTag>;
constexpr std::int64_t kModelLanes = hn::MaxLanes(LaneTag());

HWY_INLINE LaneVector load(const float* matrix, std::int64_t element) {
  return hn::Load(LaneTag(), matrix + element * kModelLanes);
}
HWY_INLINE void store(LaneVector v, float* matrix, std::int64_t element) {
  hn::Store(v, LaneTag(), matrix + element * kModelLanes);
}
HWY_INLINE void add_to(LaneVector v, float* matrix, std::int64_t element) {
  store(hn::Add(v, load(matrix, element)), matrix, element);
}
HWY_INLINE LaneVector all_lanes(float value) { return hn::Set(LaneTag(), value); }

HWY_INLINE void clear(float* matrix, std::int64_t elements) {
  for (std::int64_t i = 0; i < elements; ++i) store(hn::Zero(LaneTag()), matrix, i);
}

HWY_INLINE void copy(const float* from, std::int64_t elements, float* to) {
  for (std::int64_t i = 0; i < elements; ++i) store(load(from, i), to, i);
}

// A sum in four parts, so that an addition need not wait for the one before it.
struct LaneSum {
  LaneVector part[4];

  HWY_INLINE LaneSum() {
    for (auto& p : part) p = hn::Zero(LaneTag());
  }
  HWY_INLINE void add(std::int64_t i, LaneVector v) { part[i % 4] = hn::Add(part[i % 4], v); }
  HWY_INLINE void add_product(std::int64_t i, LaneVector a, LaneVector b) {
    part[i % 4] = hn::MulAdd(a, b, part[i % 4]);
  }
  [[nodiscard]] HWY_INLINE LaneVector total() const {
    return hn::Add(hn::Add(part[0], part[1]), hn::Add(part[2], part[3]));
  }
};

// Strides count elements.
struct LaneMatrix {
  const float* data;
  std::int64_t row;
  std::int64_t column;
};

// Every matrix here has a multiple of this many columns.
constexpr std::int64_t kTileColumns = 5;
// As many rows as leave registers for a tile, a column of A and a row of B.
constexpr std::int64_t kTileRows = kModelLanes >= 16 ? 4 : 2;

template <std::int64_t kRows>
HWY_INLINE void add_tile(std::int64_t depth, const LaneMatrix& a, const LaneMatrix& b, float* c, std::int64_t c_row) {
  LaneVector sum[kRows][kTileColumns];
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t n = 0; n < kTileColumns; ++n) sum[r][n] = load(c, r * c_row + n);
  }
  for (std::int64_t k = 0; k < depth; ++k) {
    LaneVector from_b[kTileColumns];
    for (std::int64_t n = 0; n < kTileColumns; ++n) from_b[n] = load(b.data, k * b.row + n * b.column);
    for (std::int64_t r = 0; r < kRows; ++r) {
      const auto from_a = load(a.data, r * a.row + k * a.column);
      for (std::int64_t n = 0; n < kTileColumns; ++n) sum[r][n] = hn::MulAdd(from_a, from_b[n], sum[r][n]);
    }
  }
  for (std::int64_t r = 0; r < kRows; ++r) {
    for (std::int64_t n = 0; n < kTileColumns; ++n) store(sum[r][n], c, r * c_row + n);
  }
}

// C += A B, rows of C without gaps.
inline HWY_NOINLINE void add_product(std::int64_t rows, std::int64_t columns, std::int64_t depth, LaneMatrix a,
                                     LaneMatrix b, float* c) {
  for (std::int64_t n = 0; n < columns; n += kTileColumns) {
    const LaneMatrix panel{b.data + n * b.column * kModelLanes, b.row, b.column};
    std::int64_t r = 0;
    const auto rows_of_a = [&] { return LaneMatrix{a.data + r * a.row * kModelLanes, a.row, a.column}; };
    const auto tile_of_c = [&] { return c + (r * columns + n) * kModelLanes; };
    for (; r + kTileRows <= rows; r += kTileRows) add_tile<kTileRows>(depth, rows_of_a(), panel, tile_of_c(), columns);
    for (; r < rows; ++r) add_tile<1>(depth, rows_of_a(), panel, tile_of_c(), columns);
  }
}

HWY_INLINE void add_rows(const float* rows, std::int64_t count, std::int64_t columns, float* sum) {
  for (std::int64_t r = 0; r < count; ++r) {
    for (std::int64_t n = 0; n < columns; ++n) add_to(load(rows, r * columns + n), sum, n);
  }
}

// y = x Wᵀ + b with W [out][in] and b right behind it; its gradient has the same layout.
struct LaneLinear {
  std::int64_t in;
  std::int64_t out;
  const float* weight;
  float* gradient;

  [[nodiscard]] const float* bias() const { return weight + in * out * kModelLanes; }

  HWY_INLINE void forward(const float* x, std::int64_t rows, float* y) const {
    for (std::int64_t r = 0; r < rows; ++r) copy(bias(), out, y + r * out * kModelLanes);
    add_product(rows, out, in, {x, in, 1}, {weight, 1, in}, y);
  }

  HWY_INLINE void weight_backward(const float* x, const float* dy, std::int64_t rows) const {
    add_product(out, in, rows, {dy, 1, out}, {x, in, 1}, gradient);
    add_rows(dy, rows, out, gradient + in * out * kModelLanes);
  }

  HWY_INLINE void add_input_gradient(const float* dy, std::int64_t rows, float* dx) const {
    add_product(rows, in, out, {dy, out, 1}, {weight, in, 1}, dx);
  }
};

}  // namespace quest::toy::engine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
