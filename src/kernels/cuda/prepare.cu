// One memory-bound kernel over rows: a few lanes share a row, and every lane starts the loads of all its rows before it
// uses one.

#include <algorithm>
#include <cfloat>

#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/prepare.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kMostBlocksInDepth = 65535;

struct RowTask {
  StorageType type;
  Input source;
  int batch;
  int heads;
  std::int64_t rows;
  int dim;
  bool normalize = false;
  float scale = 1.0F;
  const float* gain = nullptr;
  std::int64_t gain_head_stride = 0;
  std::int64_t gain_dim_stride = 0;
  const std::int64_t* lengths = nullptr;  // [batch]: rows at and after them have norm 0
  void* destination = nullptr;            // dense [batch, heads, rows, dim]; null where only norms are wanted
  float* reciprocals = nullptr;           // written where rows are normalised, or instead of them
  float* norms = nullptr;
  int log2_group = 0;  // lanes that share a row
  int first_batch = 0;
};

// kWidth elements as memory moves them.
template <typename T, int kWidth>
struct alignas(kWidth * sizeof(T)) Piece {
  T x[kWidth];
};

__device__ inline float group_sum(float x, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(kAllLanes, x, distance);
  return x;
}

__device__ inline float group_max(float x, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, distance));
  return x;
}

template <int kCount>
__device__ float sum_of_squares(const float (&x)[kCount], int group) {
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) squares = fmaf(x[i], x[i], squares);
  return group_sum(squares, group);
}

// The squares of such a row sum without leaving float's range.
__device__ inline bool is_ordinary(float squares) { return squares > 1e-30f && squares < 1e30f; }

// The power of two that brings the row's largest element near one; of subnormal numbers, near enough for squares.
template <int kCount>
__device__ float power_near_one(const float (&x)[kCount], int group) {
  float largest = 0;
#pragma unroll
  for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(x[i]));
  const int exponent = (__float_as_int(group_max(largest, group)) >> 23) - 127;
  return __int_as_float((127 - max(-126, min(126, exponent))) << 23);
}

struct RowScale {
  float power;    // exact; the row has been multiplied by it
  float squares;  // of the row as it is then
};

// Only rows whose squares leave float's range change, so that any power of two times a row has the same direction.
template <int kCount>
__device__ RowScale bring_to_ordinary_size(float (&x)[kCount], int group) {
  RowScale scale{1.0f, sum_of_squares(x, group)};
  if (__all_sync(kAllLanes, is_ordinary(scale.squares))) return scale;
  const float power = power_near_one(x, group);
  if (!is_ordinary(scale.squares)) scale.power = power;
#pragma unroll
  for (int i = 0; i < kCount; ++i) x[i] *= scale.power;
  scale.squares = sum_of_squares(x, group);
  return scale;
}

// What is multiplied into a row's elements: one number, or one for each.
template <int kCount, bool kGain>
struct Factor {
  float scale;
  float gain[kGain ? kCount : 1];

  __device__ float operator()(float x, float reciprocal, int i) const {
    return kGain ? x * reciprocal * gain[i] : x * (reciprocal * scale);
  }
};

// A block owns a run of rows of one head.
template <typename T, int kWidth, int kPieces, int kRows, bool kGain>
__global__ void __launch_bounds__(kThreads) transform_rows(const RowTask task) {
  constexpr int kCount = kWidth * kPieces;
  using Unit = Piece<T, kWidth>;
  const std::int64_t batch = task.first_batch + blockIdx.z;
  const std::int64_t head = blockIdx.y;
  const int group = 1 << task.log2_group;
  const int groups = kThreads >> task.log2_group;
  const int lane = threadIdx.x & (group - 1);
  const std::int64_t first_row =
      static_cast<std::int64_t>(blockIdx.x) * (groups * kRows) + (threadIdx.x >> task.log2_group);
  const auto column = [&](int piece) { return (lane + piece * group) * kWidth; };

  const T* source = static_cast<const T*>(task.source.data) + batch * task.source.batch_stride +
                    head * task.source.head_stride + first_row * task.source.row_stride + column(0);
  const std::int64_t source_step = groups * task.source.row_stride;
  Unit units[kRows][kPieces];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const bool row_exists = first_row + r * groups < task.rows;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const T* at = source + r * source_step + piece * group * kWidth;
      units[r][piece] = row_exists && column(piece) < task.dim ? *reinterpret_cast<const Unit*>(at) : Unit{};
    }
  }

  Factor<kCount, kGain> factor{.scale = task.scale};
  if constexpr (kGain) {
#pragma unroll
    for (int i = 0; i < kCount; ++i) {
      const int d = column(i / kWidth) + i % kWidth;
      factor.gain[i] =
          d < task.dim ? task.scale * task.gain[head * task.gain_head_stride + d * task.gain_dim_stride] : 0.0f;
    }
  }

  const std::int64_t first_dense = (batch * task.heads + head) * task.rows + first_row;
  T* destination = static_cast<T*>(task.destination) + first_dense * task.dim + column(0);
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first_row + r * groups;
    float x[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = to_float(units[r][i / kWidth].x[i % kWidth]);

    float reciprocal = 1.0f;
    if (task.normalize) {
      const RowScale scale = bring_to_ordinary_size(x, group);
      reciprocal = scale.squares == 0.0f ? 0.0f : rsqrtf(scale.squares);
      if (row < task.rows && lane == 0) {
        const std::int64_t dense = first_dense + r * groups;
        if (task.norms != nullptr) {
          const bool absent = task.lengths != nullptr && row >= task.lengths[batch];
          task.norms[dense] = absent ? 0.0f : sqrtf(scale.squares) / scale.power;
        } else {
          const float of_given = reciprocal * scale.power;
          task.reciprocals[dense] = of_given > FLT_MAX ? FLT_MAX : of_given;
        }
      }
    }
    if (task.destination == nullptr || row >= task.rows) continue;

#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if (column(piece) >= task.dim) continue;
      Unit unit;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        unit.x[i] = from_float<T>(factor(x[piece * kWidth + i], reciprocal, piece * kWidth + i));
      }
      *reinterpret_cast<Unit*>(destination + r * groups * task.dim + piece * group * kWidth) = unit;
    }
  }
}

template <typename T, int kWidth, int kPieces, int kRows, bool kGain>
cudaError_t launch_rows(RowTask task, cudaStream_t stream) {
  while ((kWidth * kPieces << task.log2_group) < task.dim) ++task.log2_group;
  if (task.log2_group > 5) return cudaErrorInvalidValue;
  const std::int64_t runs = ceil_div(task.rows, (kThreads >> task.log2_group) * kRows);
  if (runs * task.heads == 0) return cudaSuccess;
  for (; task.first_batch < task.batch; task.first_batch += kMostBlocksInDepth) {
    const int depth = std::min(task.batch - task.first_batch, kMostBlocksInDepth);
    const dim3 grid(static_cast<unsigned>(runs), task.heads, depth);
    transform_rows<T, kWidth, kPieces, kRows, kGain><<<grid, kThreads, 0, stream>>>(task);
  }
  return cudaGetLastError();
}

template <typename T, bool kGain>
cudaError_t launch_wide(const RowTask& task, cudaStream_t stream) {
  constexpr int kWidth = 16 / sizeof(T);
  int power = 1;
  while (power * kWidth < task.dim) power *= 2;
  // 80 elements are ten pieces: three in each of four lanes waste less than two in each of eight.
  return power * kWidth * 3 / 4 >= task.dim ? launch_rows<T, kWidth, 3, 1, kGain>(task, stream)
                                            : launch_rows<T, kWidth, 2, 2, kGain>(task, stream);
}

bool moves_in_16_bytes(const RowTask& task, std::int64_t element_bytes) {
  const auto whole = [&](std::int64_t elements) { return elements * element_bytes % 16 == 0; };
  return reinterpret_cast<std::uintptr_t>(task.source.data) % 16 == 0 && whole(task.dim) &&
         whole(task.source.row_stride) && whole(task.source.head_stride) && whole(task.source.batch_stride);
}

// Where nothing depends on the head and rows follow each other evenly, all of them are those of one head.
RowTask merged(RowTask task) {
  const bool even = task.source.head_stride == task.rows * task.source.row_stride &&
                    task.source.batch_stride == task.heads * task.source.head_stride;
  if (!even || task.gain != nullptr || task.lengths != nullptr) return task;
  task.rows *= std::int64_t{task.batch} * task.heads;
  task.batch = task.heads = 1;
  return task;
}

cudaError_t run(const RowTask& given, const Launch& launch) {
  const RowTask task = merged(given);
  return with_element(task.type, [&]<typename T>(T) {
    if (!moves_in_16_bytes(task, sizeof(T))) {
      return task.gain != nullptr ? launch_rows<T, 1, 8, 1, true>(task, launch.stream)
                                  : launch_rows<T, 1, 8, 1, false>(task, launch.stream);
    }
    return task.gain != nullptr ? launch_wide<T, true>(task, launch.stream)
                                : launch_wide<T, false>(task, launch.stream);
  });
}

int tensor_batch(const AttentionProblem& p) { return p.cu_seqlens_q != nullptr ? 1 : static_cast<int>(p.batch); }

RowTask query_rows(const AttentionProblem& p) {
  return {.type = p.type,
          .source = p.q,
          .batch = tensor_batch(p),
          .heads = static_cast<int>(p.heads),
          .rows = p.queries,
          .dim = static_cast<int>(p.dim)};
}

RowTask key_rows(const AttentionProblem& p) {
  return {.type = p.type,
          .source = p.k,
          .batch = tensor_batch(p),
          .heads = static_cast<int>(p.kv_heads),
          .rows = p.keys,
          .dim = static_cast<int>(p.dim)};
}

std::int64_t row_count(const RowTask& task) { return task.batch * task.heads * task.rows; }

bool rewrites_queries(const AttentionProblem& p) { return p.normalize_q || p.gain != nullptr; }

// Hands out pieces of the workspace, or counts them where there is none.
struct Pieces {
  float* base;
  std::int64_t used = 0;

  float* take(std::int64_t floats) {
    float* piece = base == nullptr ? nullptr : base + used;
    used += ceil_div(floats, 64) * 64;  // 256 bytes: what every kind of access is content with
    return piece;
  }
};

struct Layout {
  RowTask queries;
  RowTask keys;
  std::int64_t floats;

  Layout(const AttentionProblem& p, float* workspace) : queries(query_rows(p)), keys(key_rows(p)), floats(0) {
    Pieces pieces{workspace};
    const auto elements = [&](const RowTask& task) {
      return ceil_div(row_count(task) * task.dim, p.type == StorageType::float32 ? 1 : 2);
    };
    if (rewrites_queries(p)) queries.destination = pieces.take(elements(queries));
    if (p.normalize_k) keys.destination = pieces.take(elements(keys));
    if (p.normalize_q) queries.reciprocals = pieces.take(row_count(queries));
    if (p.normalize_k) keys.reciprocals = pieces.take(row_count(keys));
    floats = pieces.used;
  }
};

Input dense(const RowTask& task) {
  return {task.destination, task.heads * task.rows * task.dim, task.rows * task.dim, task.dim};
}

}  // namespace

std::int64_t prepare_workspace(const AttentionProblem& problem) { return Layout(problem, nullptr).floats; }

cudaError_t prepare(const AttentionProblem& problem, float* workspace, const Launch& launch, PreparedProblem& result) {
  Layout layout(problem, workspace);
  result = {
      .problem = problem, .query_reciprocals = layout.queries.reciprocals, .key_reciprocals = layout.keys.reciprocals};
  AttentionProblem& rest = result.problem;
  if (rewrites_queries(problem)) {
    layout.queries.normalize = problem.normalize_q;
    layout.queries.scale = problem.scale;
    layout.queries.gain = problem.gain;
    layout.queries.gain_head_stride = problem.gain_head_stride;
    layout.queries.gain_dim_stride = problem.gain_dim_stride;
    if (const cudaError_t error = run(layout.queries, launch); error != cudaSuccess) return error;
    rest.q = dense(layout.queries);
    rest.normalize_q = false;
    rest.gain = nullptr;
    rest.scale = 1.0F;
  }
  if (problem.normalize_k) {
    layout.keys.normalize = true;
    if (const cudaError_t error = run(layout.keys, launch); error != cudaSuccess) return error;
    rest.k = dense(layout.keys);
    rest.normalize_k = false;
  }
  return cudaSuccess;
}

cudaError_t query_norms(const AttentionProblem& problem, float* norms, const Launch& launch) {
  RowTask task = query_rows(problem);
  task.normalize = true;
  task.norms = norms;
  return run(task, launch);
}

cudaError_t key_norms(const AttentionProblem& problem, float* norms, const Launch& launch) {
  RowTask task = key_rows(problem);
  task.normalize = true;
  task.norms = norms;
  task.lengths = problem.key_lengths;
  return run(task, launch);
}

}  // namespace quest::kernels::cuda
