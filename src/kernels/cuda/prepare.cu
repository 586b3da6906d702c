// One memory-bound kernel over rows: a few lanes share a row, and every lane starts the loads of all its rows before it
// uses one.

#include <cfloat>

#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/prepare.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;

struct RowTask {
  StorageType type;
  Input source;
  std::int64_t batch;
  std::int64_t heads;
  std::int64_t rows;
  int dim;
  bool normalize = false;
  float scale = 1.0F;
  const float* gain = nullptr;
  std::int64_t gain_head_stride = 0;
  std::int64_t gain_dim_stride = 0;
  const std::int64_t* lengths = nullptr;  // [batch]: rows at and after them have norm 0
  void* destination = nullptr;            // dense [batch, heads, rows, dim]; null where only norms are wanted
  float* reciprocals = nullptr;
  float* norms = nullptr;
  int tiles = 0;  // blocks for one head
  int group = 0;  // lanes that share a row, a power of two
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

template <typename T, int kWidth, int kPieces, int kRows>
__global__ void __launch_bounds__(kThreads) transform_rows(const RowTask task) {
  constexpr int kCount = kWidth * kPieces;
  using Unit = Piece<T, kWidth>;
  const int lane = threadIdx.x & (task.group - 1);
  const int groups = kThreads / task.group;
  const std::int64_t pair = blockIdx.x / task.tiles;
  const std::int64_t batch = pair / task.heads;
  const std::int64_t head = pair % task.heads;
  const std::int64_t first_row =
      static_cast<std::int64_t>(blockIdx.x % task.tiles) * groups * kRows + threadIdx.x / task.group;
  const auto column = [&](int piece) { return (lane + piece * task.group) * kWidth; };

  const T* source =
      static_cast<const T*>(task.source.data) + batch * task.source.batch_stride + head * task.source.head_stride;
  Unit units[kRows][kPieces];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first_row + r * groups;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      const bool exists = row < task.rows && column(piece) < task.dim;
      units[r][piece] =
          exists ? *reinterpret_cast<const Unit*>(source + row * task.source.row_stride + column(piece)) : Unit{};
    }
  }

  float factor[kCount];
#pragma unroll
  for (int i = 0; i < kCount; ++i) {
    const int d = column(i / kWidth) + i % kWidth;
    const bool gained = task.gain != nullptr && d < task.dim;
    factor[i] = task.scale * (gained ? task.gain[head * task.gain_head_stride + d * task.gain_dim_stride] : 1.0f);
  }

#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    const std::int64_t row = first_row + r * groups;
    const std::int64_t dense = pair * task.rows + row;
    float x[kCount];
#pragma unroll
    for (int i = 0; i < kCount; ++i) x[i] = to_float(units[r][i / kWidth].x[i % kWidth]);

    float reciprocal = 1.0f;
    if (task.normalize || task.norms != nullptr) {
      const RowScale scale = bring_to_ordinary_size(x, task.group);
      reciprocal = scale.squares == 0.0f ? 0.0f : 1.0f / sqrtf(scale.squares);
      if (row < task.rows && lane == 0) {
        const float of_given = reciprocal * scale.power;
        if (task.reciprocals != nullptr) task.reciprocals[dense] = of_given > FLT_MAX ? FLT_MAX : of_given;
        if (task.norms != nullptr) {
          const bool absent = task.lengths != nullptr && row >= task.lengths[batch];
          task.norms[dense] = absent ? 0.0f : sqrtf(scale.squares) / scale.power;
        }
      }
    }
    if (task.destination == nullptr || row >= task.rows) continue;

    T* destination = static_cast<T*>(task.destination) + dense * task.dim;
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if (column(piece) >= task.dim) continue;
      Unit unit;
#pragma unroll
      for (int i = 0; i < kWidth; ++i) {
        const int at = piece * kWidth + i;
        unit.x[i] = from_float<T>(x[at] * reciprocal * factor[at]);
      }
      *reinterpret_cast<Unit*>(destination + column(piece)) = unit;
    }
  }
}

template <typename T, int kWidth, int kPieces, int kRows>
cudaError_t launch_rows(RowTask task, cudaStream_t stream) {
  task.group = 1;
  while (task.group * kWidth * kPieces < task.dim) task.group *= 2;
  if (task.group > 32) return cudaErrorInvalidValue;
  const std::int64_t rows_per_block = kThreads / task.group * kRows;
  task.tiles = static_cast<int>(ceil_div(task.rows, rows_per_block));
  const std::int64_t blocks = task.batch * task.heads * task.tiles;
  if (blocks == 0) return cudaSuccess;
  transform_rows<T, kWidth, kPieces, kRows><<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(task);
  return cudaGetLastError();
}

bool moves_in_16_bytes(const RowTask& task, std::int64_t element_bytes) {
  const auto whole = [&](std::int64_t elements) { return elements * element_bytes % 16 == 0; };
  return reinterpret_cast<std::uintptr_t>(task.source.data) % 16 == 0 && whole(task.dim) &&
         whole(task.source.row_stride) && whole(task.source.head_stride) && whole(task.source.batch_stride);
}

cudaError_t run(const RowTask& task, const Launch& launch) {
  return with_element(task.type, [&]<typename T>(T) {
    constexpr int kWidth = 16 / sizeof(T);
    constexpr int kPieces = sizeof(T) == 4 ? 2 : 1;  // 256 elements in 32 lanes
    return moves_in_16_bytes(task, sizeof(T)) ? launch_rows<T, kWidth, kPieces, 4 / kPieces>(task, launch.stream)
                                              : launch_rows<T, 1, 8, 1>(task, launch.stream);
  });
}

std::int64_t tensor_batch(const AttentionProblem& p) { return p.cu_seqlens_q != nullptr ? 1 : p.batch; }

RowTask query_rows(const AttentionProblem& p) {
  return {.type = p.type,
          .source = p.q,
          .batch = tensor_batch(p),
          .heads = p.heads,
          .rows = p.queries,
          .dim = static_cast<int>(p.dim)};
}

RowTask key_rows(const AttentionProblem& p) {
  return {.type = p.type,
          .source = p.k,
          .batch = tensor_batch(p),
          .heads = p.kv_heads,
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
  task.norms = norms;
  return run(task, launch);
}

cudaError_t key_norms(const AttentionProblem& problem, float* norms, const Launch& launch) {
  RowTask task = key_rows(problem);
  task.norms = norms;
  task.lengths = problem.key_lengths;
  return run(task, launch);
}

}  // namespace quest::kernels::cuda
