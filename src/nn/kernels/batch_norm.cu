#include <algorithm>
#include <stdexcept>
#include <string>

#include "kernels/cuda/device/dropout.cuh"
#include "nn/kernels/batch_norm_gpu.h"

namespace quest::nn::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int kColumns = 32;  // of a block that sums; its threads' rows lie kLanes apart
constexpr int kLanes = kThreads / kColumns;
constexpr std::int64_t kRowsOfBlock = 256;

std::int64_t blocks_of(std::int64_t rows) { return (rows + kRowsOfBlock - 1) / kRowsOfBlock; }

class Branch {
 public:
  __device__ explicit Branch(const NormProblem& problem) : p_(problem) {}

  __device__ float centred(std::int64_t row, std::int64_t column) const {
    return p_.x[row * p_.dim + column] - p_.mean[column];
  }
  __device__ float out(std::int64_t row, std::int64_t column) const {
    const float y = normalized(row, column);
    if (p_.residual == nullptr) return y;
    // NaN stays NaN.
    return p_.residual[row * p_.dim + column] + kept(y < 0.0F ? 0.0F : y, row, column);
  }
  // The gradient of the norm's own output.
  __device__ float gradient(const float* grad, std::int64_t row, std::int64_t column) const {
    const float g = grad[row * p_.dim + column];
    if (p_.residual == nullptr) return g;
    return normalized(row, column) <= 0.0F ? 0.0F : kept(g, row, column);
  }

 private:
  __device__ float normalized(std::int64_t row, std::int64_t column) const {
    return fmaf(centred(row, column), p_.scale[column], p_.bias[column]);
  }
  __device__ float kept(float x, std::int64_t row, std::int64_t column) const {
    if (p_.dropout == 0.0F) return x;
    const quest::kernels::DropoutRow key(p_.dropout_seed, 0, 0, row);
    const quest::kernels::cuda::DropoutFactors dropout(p_.dropout);
    return x * dropout.factor(key, static_cast<std::uint32_t>(column));
  }

  NormProblem p_;
};

struct Pair {
  double first;
  double second;
};

struct SumAndSquares {
  const float* x;
  std::int64_t dim;

  __device__ Pair operator()(std::int64_t row, std::int64_t column) const {
    const double value = x[row * dim + column];
    return {value, value * value};
  }
};

struct GradientsAndProducts {
  NormProblem p;
  const float* grad;

  __device__ Pair operator()(std::int64_t row, std::int64_t column) const {
    const Branch branch(p);
    const double g = branch.gradient(grad, row, column);
    return {g, g * branch.centred(row, column)};
  }
};

// Sums of pairs over kRowsOfBlock rows: block (b, c) those of rows from b · kRowsOfBlock in columns from c · kColumns.
template <typename Terms>
__global__ void __launch_bounds__(kThreads) sum_rows(Terms terms, std::int64_t rows, std::int64_t dim, double* sums) {
  __shared__ Pair lanes[kLanes][kColumns];
  const int lane = static_cast<int>(threadIdx.x) / kColumns;
  const int place = static_cast<int>(threadIdx.x) % kColumns;
  const std::int64_t column = static_cast<std::int64_t>(blockIdx.y) * kColumns + place;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kRowsOfBlock;
  const std::int64_t last = min(first + kRowsOfBlock, rows);
  Pair sum{0.0, 0.0};
  if (column < dim) {
#pragma unroll 4
    for (std::int64_t row = first + lane; row < last; row += kLanes) {
      const Pair term = terms(row, column);
      sum.first += term.first;
      sum.second += term.second;
    }
  }
  lanes[lane][place] = sum;
  __syncthreads();
  if (lane != 0 || column >= dim) return;
  for (int i = 1; i < kLanes; ++i) {
    sum.first += lanes[i][place].first;
    sum.second += lanes[i][place].second;
  }
  sums[(2 * static_cast<std::int64_t>(blockIdx.x)) * dim + column] = sum.first;
  sums[(2 * static_cast<std::int64_t>(blockIdx.x) + 1) * dim + column] = sum.second;
}

struct FinishStatistics {
  ColumnStatistics c;
  double rows;

  __device__ void operator()(const Pair& sums, std::int64_t column) const {
    const double mean = sums.first / rows;
    const double variance = fmax(sums.second / rows - mean * mean, 0.0);
    const double inverse = 1.0 / sqrt(variance + c.eps);
    c.mean[column] = static_cast<float>(mean);
    c.inverse[column] = static_cast<float>(inverse);
    c.scale[column] = static_cast<float>(c.weight[column] * inverse);
    if (c.running_mean == nullptr) return;
    const auto move = [&](float* running, double to) {
      running[column] = static_cast<float>(running[column] + c.momentum * (to - running[column]));
    };
    move(c.running_mean, mean);
    move(c.running_variance, variance * (rows / (rows - 1.0)));
  }
};

struct FinishGradients {
  NormSums s;
  const float* scale;
  double rows;

  __device__ void operator()(const Pair& sums, std::int64_t column) const {
    const double inverse = s.inverse[column];
    const double share = s.of_batch ? -static_cast<double>(scale[column]) / rows : 0.0;
    s.slope[column] = static_cast<float>(share * inverse * inverse * sums.second);
    s.offset[column] = static_cast<float>(share * sums.first);
    s.grad_weight[column] = static_cast<float>(sums.second * inverse);
    s.grad_bias[column] = static_cast<float>(sums.first);
  }
};

// A block for each column adds what sum_rows left.
template <typename Finish>
__global__ void __launch_bounds__(kThreads)
    finish_columns(Finish finish, const double* sums, std::int64_t blocks, std::int64_t dim) {
  __shared__ Pair parts[kThreads];
  const std::int64_t column = blockIdx.x;
  Pair sum{0.0, 0.0};
  for (std::int64_t b = threadIdx.x; b < blocks; b += kThreads) {
    sum.first += sums[2 * b * dim + column];
    sum.second += sums[(2 * b + 1) * dim + column];
  }
  parts[threadIdx.x] = sum;
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) {
      parts[threadIdx.x].first += parts[threadIdx.x + half].first;
      parts[threadIdx.x].second += parts[threadIdx.x + half].second;
    }
  }
  if (threadIdx.x == 0) finish(parts[0], column);
}

struct Normalize {
  NormProblem p;
  float* to;

  __device__ void operator()(std::int64_t row, std::int64_t column) const {
    to[row * p.dim + column] = Branch(p).out(row, column);
  }
};

struct Gradients {
  NormProblem p;
  NormGradients g;

  __device__ void operator()(std::int64_t row, std::int64_t column) const {
    const Branch branch(p);
    const float through_moments = fmaf(branch.centred(row, column), g.slope[column], g.offset[column]);
    g.grad_x[row * p.dim + column] = fmaf(branch.gradient(g.grad, row, column), p.scale[column], through_moments);
  }
};

template <typename Body>
__global__ void __launch_bounds__(kThreads) for_each_element(Body body, std::int64_t rows, std::int64_t dim) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < rows * dim) body(i / dim, i % dim);
}

void check_launch() {
  const cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) return;
  throw std::runtime_error(std::string("quest::nn: BatchNorm failed on the GPU: ") + cudaGetErrorString(error));
}

template <typename Body>
void launch_elements(const Body& body, std::int64_t rows, void* stream) {
  const std::int64_t blocks = (rows * body.p.dim + kThreads - 1) / kThreads;
  if (blocks == 0) return;
  for_each_element<<<static_cast<unsigned>(blocks), kThreads, 0, static_cast<cudaStream_t>(stream)>>>(body, rows,
                                                                                                      body.p.dim);
  check_launch();
}

template <typename Terms, typename Finish>
void launch_sums(const Terms& terms, const Finish& finish, std::int64_t rows, std::int64_t dim, double* workspace,
                 void* stream) {
  const auto queue = static_cast<cudaStream_t>(stream);
  const std::int64_t blocks = blocks_of(rows);
  const dim3 grid(static_cast<unsigned>(blocks), static_cast<unsigned>((dim + kColumns - 1) / kColumns));
  if (blocks > 0) sum_rows<<<grid, kThreads, 0, queue>>>(terms, rows, dim, workspace);
  finish_columns<<<static_cast<unsigned>(dim), kThreads, 0, queue>>>(finish, workspace, blocks, dim);
  check_launch();
}

constexpr GpuNorm kNorm{
    .statistics =
        [](const float* x, std::int64_t rows, std::int64_t dim, double* workspace, const ColumnStatistics& columns,
           void* stream) {
          launch_sums(SumAndSquares{x, dim}, FinishStatistics{columns, static_cast<double>(rows)}, rows, dim, workspace,
                      stream);
        },
    .normalize = [](const NormProblem& problem, float* to, std::int64_t rows,
                    void* stream) { launch_elements(Normalize{problem, to}, rows, stream); },
    .gradient_sums =
        [](const NormProblem& problem, const float* grad, std::int64_t rows, double* workspace, const NormSums& sums,
           void* stream) {
          launch_sums(GradientsAndProducts{problem, grad},
                      FinishGradients{sums, problem.scale, static_cast<double>(std::max<std::int64_t>(rows, 1))}, rows,
                      problem.dim, workspace, stream);
        },
    .gradients = [](const NormProblem& problem, const NormGradients& gradients, std::int64_t rows,
                    void* stream) { launch_elements(Gradients{problem, gradients}, rows, stream); }};

}  // namespace

std::int64_t norm_workspace(std::int64_t rows, std::int64_t dim) { return 2 * blocks_of(rows) * dim; }

const GpuNorm* gpu_norm() { return &kNorm; }

}  // namespace quest::nn::kernels
