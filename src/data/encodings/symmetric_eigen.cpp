#include "data/encodings/symmetric_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <stdexcept>

#include "data/encodings/tridiagonal_eigen.h"

namespace quest::data {
namespace {

double dot(const double* x, const double* y, std::size_t n) {
  constexpr std::size_t kLanes = 8;  // sums side by side, which the compiler can keep in vector registers
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) sums[lane] += x[i + lane] * y[i + lane];
  }
  double sum = ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
  for (; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// A = Q T Qᵀ with T of three diagonals and Q = H_0 H_1 … , H_k = 1 - scale_k v_k v_kᵀ, v_k zero up to place k.
class Reduction {
 public:
  Reduction(std::vector<double> matrix, std::size_t n) : matrix_(std::move(matrix)), n_(n), product_(n) {
    tridiagonal_.diagonal.resize(n);
    tridiagonal_.beside.resize(n > 0 ? n - 1 : 0);
    reflectors_.resize(n);
    for (std::size_t k = 0; k < n; ++k) eliminate(k);
  }

  [[nodiscard]] const Tridiagonal& tridiagonal() const { return tridiagonal_; }

  // Q x.
  void turn(double* x) const {
    for (std::size_t k = n_; k-- > 0;) {
      const auto& [scale, v] = reflectors_[k];
      if (scale == 0.0) continue;
      double* rest = x + k + 1;
      const double length = scale * dot(v.data(), rest, v.size());
      for (std::size_t i = 0; i < v.size(); ++i) rest[i] -= length * v[i];
    }
  }

 private:
  struct Reflector {
    double scale = 0.0;
    std::vector<double> v = {};
  };

  // The k-th column below the first place under the diagonal.
  void eliminate(std::size_t k) {
    tridiagonal_.diagonal[k] = matrix_[k * n_ + k];
    if (k + 1 == n_) return;
    const std::size_t size = n_ - k - 1;
    std::vector<double> v(size);
    for (std::size_t i = 0; i < size; ++i) v[i] = matrix_[(k + 1 + i) * n_ + k];
    const double below = dot(v.data() + 1, v.data() + 1, size - 1);
    tridiagonal_.beside[k] = v[0];
    if (below == 0.0) return;
    const double first = v[0] >= 0.0 ? -std::sqrt(v[0] * v[0] + below) : std::sqrt(v[0] * v[0] + below);
    tridiagonal_.beside[k] = first;
    v[0] -= first;
    const double scale = 2.0 / (v[0] * v[0] + below);
    reflect(k, v, scale);
    reflectors_[k] = {scale, std::move(v)};
  }

  // B := H B H for the block B behind k, by B - v wᵀ - w vᵀ.
  void reflect(std::size_t k, const std::vector<double>& v, double scale) {
    const std::size_t size = v.size();
    double* w = product_.data();
    std::fill_n(w, size, 0.0);
    for (std::size_t i = 0; i < size; ++i) {
      const double* row = block_row(k, i);
      w[i] += dot(row, v.data(), i) + row[i] * v[i];
      for (std::size_t j = 0; j < i; ++j) w[j] += row[j] * v[i];
    }
    const double middle = 0.5 * scale * scale * dot(w, v.data(), size);
    for (std::size_t i = 0; i < size; ++i) w[i] = scale * w[i] - middle * v[i];
    for (std::size_t i = 0; i < size; ++i) {
      double* row = block_row(k, i);
      for (std::size_t j = 0; j <= i; ++j) row[j] -= v[i] * w[j] + w[i] * v[j];
    }
  }

  double* block_row(std::size_t k, std::size_t i) { return matrix_.data() + (k + 1 + i) * n_ + k + 1; }

  std::vector<double> matrix_;
  std::size_t n_;
  std::vector<double> product_;
  Tridiagonal tridiagonal_;
  std::vector<Reflector> reflectors_;
};

}  // namespace

EigenPairs smallest_eigenpairs(std::vector<double> matrix, std::size_t n, std::size_t wanted) {
  if (!std::ranges::all_of(matrix, [](double value) { return std::isfinite(value); })) {
    throw std::invalid_argument("expected a matrix of finite numbers, got NaN or infinity");
  }
  const Reduction reduction(std::move(matrix), n);
  auto pairs = smallest_eigenpairs(reduction.tridiagonal(), std::min(n, wanted));
  for (std::size_t i = 0; i < pairs.values.size(); ++i) reduction.turn(pairs.vectors.data() + i * n);
  return pairs;
}

}  // namespace quest::data
