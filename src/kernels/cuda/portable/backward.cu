// Backward: what every query row contributes by itself, then dQ by blocks that own queries, dK and dV by blocks that
// own keys, then the gain's gradient.

#include <tuple>

#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/clear_rows.cuh"
#include "kernels/cuda/portable/gradients.cuh"
#include "kernels/cuda/portable/portable.h"

namespace quest::kernels::cuda::portable {
namespace {

struct TermsParameters {
  Matrix out;
  Matrix grad_out;
  const float* lse;
  QueryTerms* terms;
  int64_t rows;  // batch · heads · queries
  int heads;
  int queries;
};

inline constexpr int kTermsThreads = 256;
inline constexpr int kLanesPerRow = 8;

template <typename T>
__global__ void __launch_bounds__(kTermsThreads) terms_kernel(const __grid_constant__ TermsParameters p) {
  constexpr int kChunk = 16 / sizeof(T);
  const int64_t index = static_cast<int64_t>(blockIdx.x) * (kTermsThreads / kLanesPerRow) + threadIdx.x / kLanesPerRow;
  const int lane = threadIdx.x % kLanesPerRow;
  float sum = 0;
  if (index < p.rows) {
    const auto row = static_cast<int>(index % p.queries);
    const int64_t pair = index / p.queries;
    const Rows<T> out(p.out, pair / p.heads, pair % p.heads, row);
    const Rows<T> grad(p.grad_out, pair / p.heads, pair % p.heads, row);
    if (out.aligned && grad.aligned) {
      for (int column = lane * kChunk; column < out.dim; column += kLanesPerRow * kChunk) {
        const uint4 out_words = *reinterpret_cast<const uint4*>(out.data + column);
        const uint4 grad_words = *reinterpret_cast<const uint4*>(grad.data + column);
        T a[kChunk];
        T b[kChunk];
        memcpy(a, &out_words, sizeof(out_words));
        memcpy(b, &grad_words, sizeof(grad_words));
#pragma unroll
        for (int i = 0; i < kChunk; ++i) sum = fmaf(static_cast<float>(a[i]), static_cast<float>(b[i]), sum);
      }
    } else {
      for (int column = lane; column < out.dim; column += kLanesPerRow) {
        sum = fmaf(out.element(0, column), grad.element(0, column), sum);
      }
    }
  }
#pragma unroll
  for (int lanes = 1; lanes < kLanesPerRow; lanes *= 2) sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
  if (index >= p.rows || lane > 0) return;
  const float lse = p.lse[index];
  p.terms[index] = {lse == -kInfinity ? kInfinity : lse * kLog2E, sum};
}

struct GainParameters {
  const float* partials;  // [batch][heads][slots][dim]
  int64_t batch;
  int heads;
  int slots;
  int dim;
  float* grad_gain;
};

inline constexpr int kGainRows = 16;

__global__ void __launch_bounds__(32 * kGainRows) gain_kernel(GainParameters p) {
  __shared__ double sums[kGainRows][32];
  const int row = threadIdx.x / 32;
  const int column = blockIdx.x / p.heads * 32 + threadIdx.x % 32;
  const int head = blockIdx.x % p.heads;
  double sum = 0;
  for (int64_t i = row; column < p.dim && i < p.batch * p.slots; i += kGainRows) {
    sum += p.partials[((i / p.slots * p.heads + head) * p.slots + i % p.slots) * p.dim + column];
  }
  sums[row][threadIdx.x % 32] = sum;
  __syncthreads();
  if (row > 0 || column >= p.dim) return;
  for (int i = 1; i < kGainRows; ++i) sum += sums[i][threadIdx.x];
  p.grad_gain[head * p.dim + column] = static_cast<float>(sum);
}

int64_t query_rows(const AttentionProblem& p) {
  return (p.cu_seqlens_q != nullptr ? 1 : p.batch) * p.heads * p.queries;
}

int owned_rows(const AttentionProblem& p) {
  return with_shape(p, [&]<typename T, int kWidth>() { return GradientShape<T, kWidth, Owns::queries>::kOwned; });
}

template <typename T, int kWidth, Owns kOwns>
cudaError_t launch_gradients(const GradientParameters& parameters, cudaStream_t stream) {
  using Shape = GradientShape<T, kWidth, kOwns>;
  static_assert(sizeof(GradientMemory<T, kWidth, kOwns>) <= kSharedMemory);
  const AttentionProblem& p = parameters.problem;
  const int64_t blocks = kOwns == Owns::queries ? block_count(p, p.queries, p.heads, Shape::kOwned)
                                                : block_count(p, p.keys, p.kv_heads, Shape::kOwned);
  return launch_kernel(gradient_kernel<T, kWidth, kOwns>, blocks, Shape::kThreads,
                       sizeof(GradientMemory<T, kWidth, kOwns>), stream, parameters);
}

// The sums of both dK and dV of a wide head have no room in the registers of one warp.
template <typename T, int kWidth>
cudaError_t launch_all_gradients(const GradientParameters& p, cudaStream_t stream) {
  if (const auto error = launch_gradients<T, kWidth, Owns::queries>(p, stream); error != cudaSuccess) return error;
  if constexpr (kWidth <= 128) {
    return launch_gradients<T, kWidth, Owns::keys_and_values>(p, stream);
  } else {
    if (const auto error = launch_gradients<T, kWidth, Owns::keys>(p, stream); error != cudaSuccess) return error;
    return launch_gradients<T, kWidth, Owns::values>(p, stream);
  }
}

cudaError_t launch_terms(const GradientParameters& p, const Matrix& out, const float* lse, QueryTerms* terms,
                         cudaStream_t stream) {
  const int64_t rows = query_rows(p.problem);
  const TermsParameters parameters{
      out, p.grad_out, lse, terms, rows, static_cast<int>(p.problem.heads), static_cast<int>(p.problem.queries)};
  const auto kernel = p.problem.type == StorageType::float32    ? terms_kernel<float>
                      : p.problem.type == StorageType::bfloat16 ? terms_kernel<__nv_bfloat16>
                                                                : terms_kernel<__half>;
  return launch_kernel(kernel, ceil_div(rows, kTermsThreads / kLanesPerRow), kTermsThreads, 0, stream, parameters);
}

cudaError_t clear_rows_of_no_sequence(const GradientParameters& g, cudaStream_t stream) {
  const AttentionProblem& p = g.problem;
  for (const auto& [cu_seqlens, rows, heads, matrix] : {std::tuple(p.cu_seqlens_q, p.queries, p.heads, g.grad_q),
                                                        std::tuple(p.cu_seqlens_k, p.keys, p.kv_heads, g.grad_k),
                                                        std::tuple(p.cu_seqlens_k, p.keys, p.kv_heads, g.grad_v)}) {
    const auto error = clear_rows_of_no_sequence(p, cu_seqlens, rows, heads, matrix, nullptr, stream);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

}  // namespace

std::int64_t backward_workspace(const AttentionProblem& p, bool gain_gradient) {
  return 2 * query_rows(p) + (gain_gradient ? block_count(p, p.queries, p.heads, owned_rows(p)) * p.dim : 0);
}

cudaError_t backward(const AttentionProblem& original, const PreparedProblem& prepared,
                     const BackwardArguments& arguments, float* workspace, const Launch& launch) {
  const AttentionProblem& p = prepared.problem;
  auto* terms = reinterpret_cast<QueryTerms*>(workspace);
  float* gain_partials = arguments.grad_gain == nullptr ? nullptr : workspace + 2 * query_rows(p);
  const GradientParameters parameters{.problem = p,
                                      .q = {p.q, p.dim, p.type},
                                      .k = {p.k, p.dim, p.type},
                                      .v = {p.v, p.value_dim, p.type},
                                      .grad_out = {arguments.grad_out, p.value_dim, p.type},
                                      .query_terms = terms,
                                      .grad_q = {arguments.grad_q, p.dim, p.type},
                                      .grad_k = {arguments.grad_k, p.dim, p.type},
                                      .grad_v = {arguments.grad_v, p.value_dim, p.type},
                                      .key_reciprocals = prepared.key_reciprocals,
                                      .query_factors = prepared.query_factors,
                                      .key_factors = prepared.key_factors,
                                      .query_chain = {.q = {original.q, p.dim, p.type},
                                                      .reciprocals = prepared.query_reciprocals,
                                                      .queries = p.queries,
                                                      .heads = p.heads,
                                                      .scale = original.scale,
                                                      .gain = original.gain,
                                                      .gain_head_stride = original.gain_head_stride,
                                                      .gain_dim_stride = original.gain_dim_stride,
                                                      .gain_partials = gain_partials}};
  cudaError_t error = clear_rows_of_no_sequence(parameters, launch.stream);
  if (error != cudaSuccess) return error;
  error = launch_terms(parameters, {arguments.out, p.value_dim, p.type}, arguments.lse, terms, launch.stream);
  if (error != cudaSuccess) return error;
  error = with_shape(
      p, [&]<typename T, int kWidth>() { return launch_all_gradients<T, kWidth>(parameters, launch.stream); });
  if (error != cudaSuccess || gain_partials == nullptr) return error;
  const bool packed = p.cu_seqlens_q != nullptr;
  const GainParameters gain{gain_partials,
                            packed ? 1 : p.batch,
                            static_cast<int>(p.heads),
                            static_cast<int>(tile_slots(packed, p.batch, p.queries, owned_rows(p))),
                            static_cast<int>(p.dim),
                            arguments.grad_gain};
  return launch_kernel(gain_kernel, p.heads * ceil_div(p.dim, 32), 32 * kGainRows, 0, launch.stream, gain);
}

}  // namespace quest::kernels::cuda::portable
