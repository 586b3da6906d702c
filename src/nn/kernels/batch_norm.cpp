#include "nn/kernels/batch_norm.h"

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nn/kernels/batch_norm.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "nn/kernels/columns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace quest::nn::kernels::HWY_NAMESPACE {
namespace {

using quest::kernels::DropoutRow;

void column_moments_of_block(const float* x, std::int64_t rows, std::int64_t dim, float* means, float* squares) {
  const Floats d;
  const auto share = hn::Set(d, 1.0F / static_cast<float>(rows));
  for_each_column(dim, [&](std::int64_t column, auto row) {
    auto sum = hn::Zero(d);
    for (std::int64_t i = 0; i < rows; ++i) sum = hn::Add(sum, row.load(x + i * dim + column));
    const auto mean = hn::Mul(sum, share);
    auto square = hn::Zero(d);
    for (std::int64_t i = 0; i < rows; ++i) {
      const auto distance = hn::Sub(row.load(x + i * dim + column), mean);
      square = hn::MulAdd(distance, distance, square);
    }
    row.store(mean, means + column);
    row.store(square, squares + column);
  });
}

// Of a row: 0 or 1 / (1 - p), and 1 where nothing is dropped.
class RowDropout {
 public:
  HWY_INLINE RowDropout(const NormProblem& p, std::int64_t row)
      : p_(p.dropout), key_(p.dropout > 0.0F ? DropoutRow(p.dropout_seed, 0, 0, row) : DropoutRow(0, 0, 0, 0)) {}

  [[nodiscard]] HWY_INLINE Vector keep(Vector x, std::int64_t column) const {
    if (p_ == 0.0F) return x;
    return hn::Mul(x, cpu::dropout_factor(Floats(), key_, static_cast<std::uint32_t>(column), p_));
  }

 private:
  float p_;
  DropoutRow key_;
};

template <typename Row>
HWY_INLINE Vector centred(const NormProblem& p, std::int64_t i, std::int64_t column, Row row) {
  return hn::Sub(row.load(p.x + i * p.dim + column), row.load(p.mean + column));
}

template <typename Row>
HWY_INLINE Vector normalized(const NormProblem& p, std::int64_t i, std::int64_t column, Row row) {
  return hn::MulAdd(centred(p, i, column, row), row.load(p.scale + column), row.load(p.bias + column));
}

void normalize_range(const NormProblem& p, float* to, std::int64_t first_row, std::int64_t last_row) {
  for (std::int64_t i = first_row; i < last_row; ++i) {
    const RowDropout dropout(p, i);
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      auto y = normalized(p, i, column, row);
      if (p.residual != nullptr) {
        y = hn::Add(row.load(p.residual + i * p.dim + column), dropout.keep(relu(y), column));
      }
      row.store(y, to + i * p.dim + column);
    });
  }
}

template <typename Row>
HWY_INLINE Vector inner_gradient(const NormProblem& p, const float* grad, const RowDropout& dropout, std::int64_t i,
                                 std::int64_t column, Row row) {
  const auto g = row.load(grad + i * p.dim + column);
  if (p.residual == nullptr) return g;
  return where_positive(normalized(p, i, column, row), dropout.keep(g, column));
}

void norm_gradient_sums_range(const NormProblem& p, const float* grad, std::int64_t first_row, std::int64_t last_row,
                              float* sums, float* products) {
  for_each_column(p.dim, [&](std::int64_t column, auto row) {
    row.store(hn::Zero(Floats()), sums + column);
    row.store(hn::Zero(Floats()), products + column);
  });
  for (std::int64_t i = first_row; i < last_row; ++i) {
    const RowDropout dropout(p, i);
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      const auto g = inner_gradient(p, grad, dropout, i, column, row);
      row.store(hn::Add(row.load(sums + column), g), sums + column);
      row.store(hn::MulAdd(g, centred(p, i, column, row), row.load(products + column)), products + column);
    });
  }
}

void norm_gradients_range(const NormProblem& p, const NormGradients& gradients, std::int64_t first_row,
                          std::int64_t last_row) {
  for (std::int64_t i = first_row; i < last_row; ++i) {
    const RowDropout dropout(p, i);
    for_each_column(p.dim, [&](std::int64_t column, auto row) {
      const auto g = inner_gradient(p, gradients.grad, dropout, i, column, row);
      const auto through_moments = hn::MulAdd(centred(p, i, column, row), row.load(gradients.slope + column),
                                              row.load(gradients.offset + column));
      row.store(hn::MulAdd(g, row.load(p.scale + column), through_moments), gradients.grad_x + i * p.dim + column);
    });
  }
}

}  // namespace
}  // namespace quest::nn::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::nn::kernels {
HWY_EXPORT(column_moments_of_block);
HWY_EXPORT(normalize_range);
HWY_EXPORT(norm_gradient_sums_range);
HWY_EXPORT(norm_gradients_range);

void column_moments(const float* x, std::int64_t rows, std::int64_t dim, float* means, float* squares) {
  HWY_DYNAMIC_DISPATCH(column_moments_of_block)(x, rows, dim, means, squares);
}

void normalize(const NormProblem& problem, float* to, std::int64_t first_row, std::int64_t last_row) {
  HWY_DYNAMIC_DISPATCH(normalize_range)(problem, to, first_row, last_row);
}

void norm_gradient_sums(const NormProblem& problem, const float* grad, std::int64_t first_row, std::int64_t last_row,
                        float* sums, float* products) {
  HWY_DYNAMIC_DISPATCH(norm_gradient_sums_range)(problem, grad, first_row, last_row, sums, products);
}

void norm_gradients(const NormProblem& problem, const NormGradients& gradients, std::int64_t first_row,
                    std::int64_t last_row) {
  HWY_DYNAMIC_DISPATCH(norm_gradients_range)(problem, gradients, first_row, last_row);
}

}  // namespace quest::nn::kernels
#endif
