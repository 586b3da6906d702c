#include "data/encodings/tridiagonal_eigen.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>

#include "base/random.h"

namespace quest::data {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

// An interval that holds every eigenvalue, by Gershgorin's circles.
struct Bounds {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] double size() const { return std::max(std::abs(low), std::abs(high)); }
};

Bounds bounds_of(const Tridiagonal& matrix) {
  const auto n = matrix.diagonal.size();
  Bounds bounds{matrix.diagonal[0], matrix.diagonal[0]};
  for (std::size_t i = 0; i < n; ++i) {
    const double radius =
        (i > 0 ? std::abs(matrix.beside[i - 1]) : 0.0) + (i + 1 < n ? std::abs(matrix.beside[i]) : 0.0);
    bounds.low = std::min(bounds.low, matrix.diagonal[i] - radius);
    bounds.high = std::max(bounds.high, matrix.diagonal[i] + radius);
  }
  const double margin = 4.0 * kEpsilon * bounds.size();
  return {bounds.low - margin, bounds.high + margin};
}

// How many eigenvalues are below x: the negative pivots of an elimination of T - x.
std::size_t count_below(const Tridiagonal& matrix, double x, double smallest_pivot) {
  std::size_t count = 0;
  double pivot = 1.0;
  for (std::size_t i = 0; i < matrix.diagonal.size(); ++i) {
    const double beside = i > 0 ? matrix.beside[i - 1] : 0.0;
    pivot = matrix.diagonal[i] - x - beside * beside / pivot;
    if (std::abs(pivot) < smallest_pivot) pivot = -smallest_pivot;
    count += pivot < 0.0 ? 1 : 0;
  }
  return count;
}

std::vector<double> smallest_eigenvalues(const Tridiagonal& matrix, std::size_t wanted, const Bounds& bounds) {
  // Its square root divides by no more than what stays a number.
  const double smallest_pivot = std::max(bounds.size() * bounds.size(), 1.0) * 1e-290;
  std::vector<double> values;
  double low = bounds.low;
  for (std::size_t k = 0; k < wanted; ++k) {
    double high = bounds.high;
    for (double middle = 0.5 * (low + high); middle > low && middle < high; middle = 0.5 * (low + high)) {
      if (high - low <= kEpsilon * bounds.size() * 0.5) break;
      (count_below(matrix, middle, smallest_pivot) > k ? high : low) = middle;
    }
    values.push_back(0.5 * (low + high));
    low = std::max(bounds.low, low - kEpsilon * bounds.size());
  }
  return values;
}

double dot(const double* x, const double* y, std::size_t n) {
  double sum = 0.0;
  for (std::size_t i = 0; i < n; ++i) sum += x[i] * y[i];
  return sum;
}

// Makes the length 1; gives what it was.
double normalize(std::vector<double>& x) {
  const double length = std::sqrt(dot(x.data(), x.data(), x.size()));
  for (auto& value : x) value /= length;
  return length;
}

// Solves (T - value) x = b by Gaussian elimination with row exchanges; made once, used for every b.
class Shifted {
 public:
  Shifted(const Tridiagonal& matrix, double value, double smallest_pivot)
      : n_(matrix.diagonal.size()), pivot_(n_), right_(n_), far_right_(n_), factor_(n_), is_exchanged_(n_) {
    double own = matrix.diagonal[0] - value;
    double own_right = n_ > 1 ? matrix.beside[0] : 0.0;
    for (std::size_t i = 0; i + 1 < n_; ++i) {
      const double below = matrix.beside[i];
      const double below_own = matrix.diagonal[i + 1] - value;
      const double below_right = i + 2 < n_ ? matrix.beside[i + 1] : 0.0;
      is_exchanged_[i] = std::abs(below) > std::abs(own);
      if (is_exchanged_[i]) {
        factor_[i] = own / below;
        set(i, below, below_own, below_right);
        own = own_right - factor_[i] * below_own;
        own_right = -factor_[i] * below_right;
      } else {
        if (std::abs(own) < smallest_pivot) own = std::copysign(smallest_pivot, own);
        factor_[i] = below / own;
        set(i, own, own_right, 0.0);
        own = below_own - factor_[i] * own_right;
        own_right = below_right;
      }
    }
    if (std::abs(own) < smallest_pivot) own = std::copysign(smallest_pivot, own);
    set(n_ - 1, own, 0.0, 0.0);
  }

  void solve(std::vector<double>& x) const {
    for (std::size_t i = 0; i + 1 < n_; ++i) {
      if (is_exchanged_[i]) std::swap(x[i], x[i + 1]);
      x[i + 1] -= factor_[i] * x[i];
    }
    for (std::size_t i = n_; i-- > 0;) {
      if (i + 1 < n_) x[i] -= right_[i] * x[i + 1];
      if (i + 2 < n_) x[i] -= far_right_[i] * x[i + 2];
      x[i] /= pivot_[i];
    }
  }

 private:
  void set(std::size_t i, double pivot, double right, double far_right) {
    pivot_[i] = pivot;
    right_[i] = right;
    far_right_[i] = far_right;
  }

  std::size_t n_;
  std::vector<double> pivot_;
  std::vector<double> right_;
  std::vector<double> far_right_;
  std::vector<double> factor_;
  std::vector<bool> is_exchanged_;
};

// |T x - value x|
double residual(const Tridiagonal& matrix, double value, const std::vector<double>& x) {
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double row = (matrix.diagonal[i] - value) * x[i];
    if (i > 0) row += matrix.beside[i - 1] * x[i - 1];
    if (i + 1 < x.size()) row += matrix.beside[i] * x[i + 1];
    sum += row * row;
  }
  return std::sqrt(sum);
}

// Takes away what lies along the vectors found before. Twice is enough: what the first pass leaves is rounding.
void orthogonalize(std::vector<double>& x, const std::vector<double>& before) {
  const auto n = x.size();
  for (int pass = 0; pass < 2; ++pass) {
    for (std::size_t first = 0; first < before.size(); first += n) {
      const double along = dot(before.data() + first, x.data(), n);
      for (std::size_t i = 0; i < n; ++i) x[i] -= along * before[first + i];
    }
  }
}

std::vector<double> random_unit(std::size_t n, std::uint64_t number) {
  constexpr std::uint64_t kStart = 0x65696765;
  base::Random random(kStart, {number});
  std::vector<double> x(n);
  for (auto& value : x) value = random.uniform() - 0.5;
  normalize(x);
  return x;
}

std::vector<double> eigenvector(const Tridiagonal& matrix, double value, double size,
                                const std::vector<double>& before) {
  constexpr int kStarts = 8;
  constexpr int kSteps = 8;
  const auto n = matrix.diagonal.size();
  const Shifted shifted(matrix, value, kEpsilon * size);
  const double allowed = 8.0 * std::sqrt(static_cast<double>(n)) * kEpsilon * size;
  for (int start = 0; start < kStarts; ++start) {
    auto x = random_unit(n, before.size() * kStarts + static_cast<std::size_t>(start));
    for (int step = 0; step < kSteps; ++step) {
      orthogonalize(x, before);
      normalize(x);
      shifted.solve(x);
      normalize(x);
      orthogonalize(x, before);
      normalize(x);
      if (step > 0 && residual(matrix, value, x) <= allowed) return x;
    }
  }
  throw std::runtime_error("the eigenvector of eigenvalue " + std::to_string(value) + " of a matrix of " +
                           std::to_string(n) + " rows was not found");
}

}  // namespace

EigenPairs smallest_eigenpairs(const Tridiagonal& matrix, std::size_t wanted) {
  EigenPairs pairs;
  if (wanted == 0) return pairs;
  const auto bounds = bounds_of(matrix);
  const double size = bounds.size() > 0.0 ? bounds.size() : 1.0;
  pairs.values = smallest_eigenvalues(matrix, wanted, bounds);
  for (const double value : pairs.values) {
    const auto x = eigenvector(matrix, value, size, pairs.vectors);
    pairs.vectors.insert(pairs.vectors.end(), x.begin(), x.end());
  }
  return pairs;
}

}  // namespace quest::data
