#pragma once

// Smallest eigenvalues and eigenvectors of a symmetric matrix of three diagonals. Needs no torch.

#include <cstddef>
#include <vector>

#include "data/encodings/symmetric_eigen.h"

namespace quest::data {

struct Tridiagonal {
  std::vector<double> diagonal;
  std::vector<double> beside;  // one shorter
};

[[nodiscard]] EigenPairs smallest_eigenpairs(const Tridiagonal& matrix, std::size_t wanted);

}  // namespace quest::data
