// Backward: what every query row contributes by itself, then dQ by blocks that own queries, dK and dV by blocks that
// own keys, then the gain's gradient. Where dQ is bounded and its rows are long, blocks that own keys give all three.

#include <cstdlib>
#include <tuple>

#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/clear_rows.cuh"
#include "kernels/cuda/portable/gradient_tiles.cuh"
#include "kernels/cuda/portable/portable.h"

namespace quest::kernels::cuda::portable {
namespace {

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

int padded_width(const AttentionProblem& p) {
  return with_shape(p, [&]<typename T, int kWidth>() { return kWidth; });
}

// Unit keys bound dQ. Weights carry the factor of their key then, which takes from a single key that its weight is
// exactly one.
bool sums_queries(const AttentionProblem& original, const DeviceInfo& device) {
  const bool fits = padded_width(original) <= 128 || device.block_shared_memory >= kMoreSharedMemory;
  return original.type != StorageType::float32 && original.normalize_k && original.keys > 1 && fits;
}

// Rows of queries whose share of the gain's gradient is one partial sum.
int partial_rows(const AttentionProblem& p, bool fixed) {
  if (fixed) return kSumRows;
  return with_shape(p, [&]<typename T, int kWidth>() { return GradientShape<T, kWidth, Owns::queries>::kOwned; });
}

// Pieces of the workspace, in floats.
struct Workspace {
  int64_t sums = 0;
  int64_t mask;
  int64_t terms;
  int64_t to_fixed;
  int64_t value_lengths;
  int64_t largest_values;
  int64_t gain_partials;
  int64_t end;

  Workspace(const AttentionProblem& original, bool gain_gradient, const DeviceInfo& device) {
    const AttentionProblem& p = original;
    const bool fixed = sums_queries(p, device);
    const int64_t query_tiles = block_count(p, p.queries, p.heads, kSumRows);
    mask = sums + (fixed ? query_tiles * kSumRows * padded_width(p) : 0);
    terms = mask + mask_workspace(p);
    to_fixed = terms + 2 * query_rows(p);
    const int64_t key_tiles = block_count(p, p.keys, p.kv_heads, kSumRows);
    value_lengths = to_fixed + (fixed ? query_rows(p) : 0);
    largest_values = value_lengths + (fixed ? key_tiles * kSumRows : 0);
    gain_partials = largest_values + (fixed ? key_tiles : 0);
    end = gain_partials + (gain_gradient ? block_count(p, p.queries, p.heads, partial_rows(p, fixed)) * p.dim : 0);
  }
};

// And, where dQ is summed, everything that must stand before the first sum.
cudaError_t launch_terms(const GradientParameters& g, const AttentionProblem& original,
                         const BackwardArguments& arguments, QueryTerms* terms, float* to_fixed,
                         const ValueLengths& lengths, cudaStream_t stream) {
  const AttentionProblem& p = g.problem;
  return with_element(p.type, [&]<typename T>(T) {
    if (g.query_sums != nullptr) {
      const auto error = launch_kernel(value_lengths_kernel<T>, block_count(p, p.keys, p.kv_heads, kSumRows),
                                       kRowThreads, 0, stream, ValueParameters{p, g.v, lengths});
      if (error != cudaSuccess) return error;
    }
    const TermsParameters parameters{.problem = p,
                                     .out = {arguments.out, original.value_dim, p.type},
                                     .grad_out = g.grad_out,
                                     .lse = arguments.lse,
                                     .terms = terms,
                                     .value_lengths = lengths,
                                     .to_fixed = to_fixed,
                                     .sums = g.query_sums,
                                     .width = padded_width(p),
                                     .mask_bits = g.mask_bits.of_queries};
    return launch_kernel(terms_kernel<T>, block_count(p, p.queries, p.heads, kSumRows), kRowThreads, 0, stream,
                         parameters);
  });
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

// From the fixed-point sums of dQ to grad_q.
cudaError_t finish_sums(const GradientParameters& g, cudaStream_t stream) {
  const AttentionProblem& p = g.problem;
  const FinishParameters finish{p, g.query_sums, g.to_fixed, g.grad_q, g.query_chain};
  return with_shape(p, [&]<typename T, int kWidth>() {
    if constexpr (sizeof(T) == 2) {
      return launch_kernel(finish_kernel<T, kWidth>, block_count(p, p.queries, p.heads, kSumRows), kFinishThreads, 0,
                           stream, finish);
    }
    return cudaErrorInvalidValue;  // never summed
  });
}

}  // namespace

std::int64_t backward_workspace(const AttentionProblem& p, bool gain_gradient, const DeviceInfo& device) {
  return Workspace(p, gain_gradient, device).end;
}

cudaError_t backward(const AttentionProblem& original, const RemainingProblem& prepared,
                     const BackwardArguments& arguments, const Launch& launch) {
  const AttentionProblem& p = prepared.problem;
  float* memory = arguments.workspace;
  const Workspace workspace(original, arguments.grad_gain != nullptr, launch.device);
  auto* terms = reinterpret_cast<QueryTerms*>(memory + workspace.terms);
  float* to_fixed = memory + workspace.to_fixed;
  float* gain_partials = arguments.grad_gain == nullptr ? nullptr : memory + workspace.gain_partials;
  PackedMask mask;
  cudaError_t error = pack_mask(p, memory + workspace.mask, launch.stream, mask);
  if (error != cudaSuccess) return error;
  const GradientParameters parameters{.problem = p,
                                      .q = {p.q, p.dim, p.type},
                                      .k = {p.k, p.dim, p.type},
                                      .v = {p.v, p.value_dim, p.type},
                                      .grad_out = {arguments.grad_out, p.value_dim, p.type},
                                      .query_terms = terms,
                                      .lse_low = is_additive(p.mask.type) ? arguments.lse_low : nullptr,
                                      .grad_q = {arguments.grad_q, original.dim, p.type},
                                      .grad_k = {arguments.grad_k, original.dim, p.type},
                                      .grad_v = {arguments.grad_v, original.value_dim, p.type},
                                      .key_reciprocals = prepared.key_reciprocals,
                                      .query_factors = prepared.query_factors,
                                      .key_factors = prepared.key_factors,
                                      .query_chain = {.q = {original.q, original.dim, p.type},
                                                      .reciprocals = prepared.query_reciprocals,
                                                      .queries = p.queries,
                                                      .heads = p.heads,
                                                      .scale = original.scale,
                                                      .gain = original.gain,
                                                      .gain_head_stride = original.gain_head_stride,
                                                      .gain_dim_stride = original.gain_dim_stride,
                                                      .gain_partials = gain_partials},
                                      .to_fixed = to_fixed,
                                      .query_sums = sums_queries(original, launch.device)
                                                        ? reinterpret_cast<std::int32_t*>(memory + workspace.sums)
                                                        : nullptr,
                                      .repeats_keys = prepared.repeats_keys,
                                      .mask_bits = mask};
  for (const Matrix& rows : {parameters.q, parameters.k, parameters.v, parameters.grad_out}) {
    if (!rows.aligned) return cudaErrorMisalignedAddress;
  }
  error = clear_rows_of_no_sequence(parameters, launch.stream);
  if (error != cudaSuccess) return error;
  const ValueLengths lengths{memory + workspace.value_lengths, memory + workspace.largest_values};
  error = launch_terms(parameters, original, arguments, terms, to_fixed, lengths, launch.stream);
  if (error != cudaSuccess) return error;
  switch (extras_of(p)) {
    case Extras::dropout:
      error = launch_gradients<Extras::dropout>(parameters, launch);
      break;
    case Extras::additive_mask:
      error = launch_gradients<Extras::additive_mask>(parameters, launch);
      break;
    default:
      error = launch_gradients<Extras::none>(parameters, launch);
  }
  if (error == cudaSuccess && parameters.query_sums != nullptr) error = finish_sums(parameters, launch.stream);
  if (error != cudaSuccess || gain_partials == nullptr) return error;
  const bool packed = p.cu_seqlens_q != nullptr;
  const GainParameters gain{
      gain_partials,
      packed ? 1 : p.batch,
      static_cast<int>(p.heads),
      static_cast<int>(tile_slots(packed, p.batch, p.queries, partial_rows(p, parameters.query_sums != nullptr))),
      static_cast<int>(original.dim),
      arguments.grad_gain};
  return launch_kernel(gain_kernel, p.heads * ceil_div(original.dim, 32), 32 * kGainRows, 0, launch.stream, gain);
}

}  // namespace quest::kernels::cuda::portable
