// The dropout factors written out, for those who need the matrix: the reference and the tests.

#include "kernels/cuda/attention.h"
#include "kernels/cuda/device/dropout.cuh"

namespace quest::kernels::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) write_factors(float dropout_p, std::uint64_t seed, std::int64_t heads,
                                                          std::int64_t queries, std::int64_t keys, float* factors) {
  const std::int64_t row = blockIdx.x;
  const std::int64_t pair = row / queries;
  const DropoutFactors drawn(dropout_p);
  const DropoutRow stream(seed, pair / heads, pair % heads, row % queries);
  for (std::int64_t key = threadIdx.x; key < keys; key += kThreads) {
    factors[row * keys + key] = drawn.factor(stream, static_cast<std::uint32_t>(key));
  }
}

}  // namespace

cudaError_t dropout_factors(float dropout_p, std::uint64_t seed, std::int64_t batch, std::int64_t heads,
                            std::int64_t queries, std::int64_t keys, float* factors, const Launch& launch) {
  const std::int64_t rows = batch * heads * queries;
  if (rows == 0) return cudaSuccess;
  write_factors<<<static_cast<unsigned>(rows), kThreads, 0, launch.stream>>>(dropout_p, seed, heads, queries, keys,
                                                                             factors);
  return cudaGetLastError();
}

}  // namespace quest::kernels::cuda
