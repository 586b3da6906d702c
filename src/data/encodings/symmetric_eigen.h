#pragma once

// The smallest eigenvalues of a dense symmetric matrix with their eigenvectors, in float64, on the calling thread, with
// the same bits whoever calls: LAPACK's depend on how many threads it takes. Needs no torch.

#include <cstddef>
#include <vector>

namespace quest::data {

struct EigenPairs {
  std::vector<double> values;   // ascending
  std::vector<double> vectors;  // one after the other, of length n each; orthonormal
};

// `matrix` is [n, n], of which the lower triangle counts. Householder's reduction to three diagonals, bisection for the
// values, inverse iteration for the vectors. Throws std::invalid_argument for a matrix that is not of finite numbers.
[[nodiscard]] EigenPairs smallest_eigenpairs(std::vector<double> matrix, std::size_t n, std::size_t wanted);

}  // namespace quest::data
