// One memory-bound kernel over rows: a few lanes share a row, two or three accesses each.

#include <algorithm>
#include <cfloat>
#include <utility>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/overlap.cuh"
#include "kernels/cuda/device/storage.cuh"
#include "kernels/cuda/prepare.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr unsigned kAllLanes = 0xffffffffu;
constexpr int kMostBlocksInDepth = 65535;

// A gain of several dimensions has to be multiplied into queries before they are rounded. Where rows are so short that
// a tiled kernel pads them to twice their length anyway, the second half holds what rounding took from the queries, and
// the keys once more.
constexpr int kHalfRow = 8;
enum class SecondHalf { none, remainder, copy };

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
  void* destination = nullptr;            // dense [batch, heads, rows, prepared_dim()]
  float* reciprocals = nullptr;           // where rows are normalised
  float* factors = nullptr;               // if given, rows get only a power of two of their reciprocal
  const float* head_gain = nullptr;       // multiplied into factors
  float* norms = nullptr;                 // if given, all that is written
  SecondHalf second_half = SecondHalf::none;
  int log2_group = 0;  // lanes that share a row
  int first_batch = 0;

  // Whole words of 16 bytes.
  __host__ __device__ int padded_dim() const {
    const int word = type == StorageType::float32 ? 4 : 8;
    return (dim + word - 1) / word * word;
  }
  __host__ __device__ int prepared_dim() const { return second_half == SecondHalf::none ? padded_dim() : 2 * kHalfRow; }
};

// What memory moves at once: 16 bytes, or one element.
template <typename T, int kWidth>
struct alignas(16) Piece {
  uint32_t words[4];

  __device__ float get(int i) const {
    if constexpr (sizeof(T) == 4) {
      return __uint_as_float(words[i]);
    } else {
      return i % 2 == 0 ? Element<T>::low(words[i / 2]) : Element<T>::high(words[i / 2]);
    }
  }

  template <typename ElementOf>
  __device__ static Piece of(ElementOf element) {
    Piece piece;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if constexpr (sizeof(T) == 4) {
        piece.words[i] = __float_as_uint(element(i));
      } else {
        piece.words[i] = Element<T>::pack(element(2 * i), element(2 * i + 1));
      }
    }
    return piece;
  }
};

template <typename T>
struct Piece<T, 1> {
  T x;

  __device__ float get(int /*i*/) const { return to_float(x); }

  template <typename ElementOf>
  __device__ static Piece of(ElementOf element) {
    return {from_float<T>(element(0))};
  }
};

__device__ inline float group_sum(float x, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) x += __shfl_xor_sync(kAllLanes, x, distance);
  return x;
}

__device__ inline float group_max(float x, int group) {
  for (int distance = group / 2; distance > 0; distance /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, distance));
  return x;
}

// The pieces of one row that a lane holds.
template <typename T, int kWidth, int kPieces>
struct RowPart {
  static constexpr int kCount = kWidth * kPieces;
  Piece<T, kWidth> pieces[kPieces];

  __device__ float get(int i) const { return pieces[i / kWidth].get(i % kWidth); }

  __device__ float sum_of_squares(float power, int group) const {
    float squares = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) squares = fmaf(get(i) * power, get(i) * power, squares);
    return group_sum(squares, group);
  }

  // The power of two that brings the row's largest element near one; of subnormal numbers, near enough for squares.
  __device__ float power_near_one(int group) const {
    float largest = 0;
#pragma unroll
    for (int i = 0; i < kCount; ++i) largest = fmaxf(largest, fabsf(get(i)));
    const int exponent = (__float_as_int(group_max(largest, group)) >> 23) - 127;
    return __int_as_float((127 - max(-126, min(126, exponent))) << 23);
  }
};

// x = power_of_two(x) · mantissa(x), the latter in [1, 2) and finite whatever x is.
__device__ inline float power_of_two(float x) { return __uint_as_float(__float_as_uint(x) & 0x7f800000u); }
__device__ inline float mantissa(float x) { return __uint_as_float((__float_as_uint(x) & 0x007fffffu) | 0x3f800000u); }

// The squares of such a row sum without leaving float's range.
__device__ inline bool is_ordinary(float squares) { return squares > 1e-30f && squares < 1e30f; }

struct RowScale {
  float power = 1.0f;  // exact; 1 for ordinary rows, so that any power of two times a row has the same direction
  float squares;       // of the row times the power

  template <typename Part>
  __device__ RowScale(const Part& part, int group) : squares(part.sum_of_squares(1.0f, group)) {
    if (__all_sync(kAllLanes, is_ordinary(squares))) return;
    const float near_one = part.power_near_one(group);
    if (!is_ordinary(squares)) power = near_one;
    squares = part.sum_of_squares(power, group);
  }
};

// What is multiplied into a row's elements: one number, or one for each.
template <int kCount, bool kGain>
struct Factor {
  float scale;
  float gain[kGain ? kCount : 1];

  __device__ float operator()(float x, float reciprocal, int i) const {
    return kGain ? x * reciprocal * gain[i] : x * (reciprocal * scale);
  }
};

// What is not finite is left to the first half alone, or infinity would meet itself with the other sign.
template <typename T, typename ElementOf>
__device__ void store_both_halves(Piece<T, kHalfRow>* row, SecondHalf second_half, ElementOf element) {
  using Half = Piece<T, kHalfRow>;
  const Half first = Half::of(element);
  row[0] = first;
  row[1] = Half::of([&](int i) {
    if (!isfinite(first.get(i))) return 0.0f;
    return second_half == SecondHalf::copy ? first.get(i) : element(i) - first.get(i);
  });
}

// A block owns a run of rows of one head, a few lanes each row.
template <typename T, int kWidth, int kPieces, bool kGain>
__global__ void __launch_bounds__(kThreads) transform_rows(const RowTask task) {
  let_next_start();
  using Unit = Piece<T, kWidth>;
  using Part = RowPart<T, kWidth, kPieces>;
  const std::int64_t batch = task.first_batch + blockIdx.z;
  const std::int64_t head = blockIdx.y;
  const int group = 1 << task.log2_group;
  const int lane = threadIdx.x & (group - 1);
  const std::int64_t row = (static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x) >> task.log2_group;
  const bool row_exists = row < task.rows;
  const auto column = [&](int piece) { return (lane + piece * group) * kWidth; };
  const std::int64_t dense = (batch * task.heads + head) * task.rows + row;
  const float head_gain = task.head_gain == nullptr ? 1.0f : task.head_gain[head * task.gain_head_stride];
  if (!task.normalize && task.factors != nullptr) {
    if (row_exists && lane == 0) task.factors[dense] = head_gain;
    if (task.destination == nullptr) return;
  }

  const T* source = static_cast<const T*>(task.source.data) + batch * task.source.batch_stride +
                    head * task.source.head_stride + row * task.source.row_stride;
  Part part;
#pragma unroll
  for (int piece = 0; piece < kPieces; ++piece) {
    const bool exists = row_exists && column(piece) < task.dim;
    part.pieces[piece] = exists ? *reinterpret_cast<const Unit*>(source + column(piece)) : Unit{};
  }

  Factor<Part::kCount, kGain> factor{.scale = task.scale};
  if constexpr (kGain) {
#pragma unroll
    for (int i = 0; i < Part::kCount; ++i) {
      const int d = column(i / kWidth) + i % kWidth;
      factor.gain[i] =
          d < task.dim ? task.scale * task.gain[head * task.gain_head_stride + d * task.gain_dim_stride] : 0.0f;
    }
  }

  const auto store = [&](float power, float reciprocal) {
    T* destination = static_cast<T*>(task.destination) + dense * task.prepared_dim();
    const auto element = [&](int at) { return factor(part.get(at) * power, reciprocal, at); };
    if constexpr (sizeof(T) == 2) {
      if (task.second_half != SecondHalf::none) {
        store_both_halves(reinterpret_cast<Piece<T, kHalfRow>*>(destination), task.second_half, element);
        return;
      }
    }
#pragma unroll
    for (int piece = 0; piece < kPieces; ++piece) {
      if (column(piece) >= task.padded_dim()) continue;
      *reinterpret_cast<Unit*>(destination + column(piece)) =
          Unit::of([&](int i) { return element(piece * kWidth + i); });
    }
  };
  if (!task.normalize) {
    if (row_exists) store(1.0f, 1.0f);
    return;
  }

  const RowScale scale(part, group);
  if (!row_exists) return;
  if (task.norms != nullptr) {
    const bool absent = task.lengths != nullptr && row >= task.lengths[batch];
    if (lane == 0) task.norms[dense] = absent ? 0.0f : sqrtf(scale.squares) / scale.power;
    return;
  }
  // NaN for a row with something that is not finite: no direction.
  const float reciprocal = scale.squares == 0.0f ? 0.0f : scale.squares <= FLT_MAX ? rsqrtf(scale.squares) : NAN;
  if (task.factors == nullptr) {
    store(scale.power, reciprocal);
  } else {
    store(scale.power, power_of_two(reciprocal));
    if (lane == 0) task.factors[dense] = mantissa(reciprocal) * head_gain;
  }
  const float of_given = reciprocal * scale.power;
  if (lane == 0) task.reciprocals[dense] = of_given > FLT_MAX ? FLT_MAX : of_given;
}

template <typename T, int kWidth, int kPieces, bool kGain>
cudaError_t launch_rows(RowTask task, cudaStream_t stream) {
  while ((kWidth * kPieces << task.log2_group) < task.padded_dim()) ++task.log2_group;
  if (task.log2_group > 5) return cudaErrorInvalidValue;
  const std::int64_t runs = ceil_div(task.rows, kThreads >> task.log2_group);
  if (runs * task.heads == 0) return cudaSuccess;
  for (; task.first_batch < task.batch; task.first_batch += kMostBlocksInDepth) {
    const int depth = std::min(task.batch - task.first_batch, kMostBlocksInDepth);
    const dim3 grid(static_cast<unsigned>(runs), task.heads, depth);
    transform_rows<T, kWidth, kPieces, kGain><<<grid, kThreads, 0, stream>>>(task);
  }
  return cudaGetLastError();
}

bool moves_in_16_bytes(const RowTask& task, std::int64_t element_bytes) {
  const auto whole = [&](std::int64_t elements) { return elements * element_bytes % 16 == 0; };
  return reinterpret_cast<std::uintptr_t>(task.source.data) % 16 == 0 && whole(task.dim) &&
         whole(task.source.row_stride) && whole(task.source.head_stride) && whole(task.source.batch_stride);
}

template <typename T, bool kGain>
cudaError_t launch_type(const RowTask& task, cudaStream_t stream) {
  constexpr int kWidth = 16 / sizeof(T);
  if (!moves_in_16_bytes(task, sizeof(T))) return launch_rows<T, 1, 8, kGain>(task, stream);
  int pieces = 1;
  while (pieces * kWidth < task.dim) pieces *= 2;
  // 80 elements are ten pieces: three in each of four lanes waste less than two in each of eight.
  return pieces * kWidth * 3 / 4 >= task.dim ? launch_rows<T, kWidth, 3, kGain>(task, stream)
                                             : launch_rows<T, kWidth, 2, kGain>(task, stream);
}

// Where nothing depends on the head and rows follow each other evenly, all of them are those of one head.
RowTask merged(RowTask task) {
  const bool even = task.source.head_stride == task.rows * task.source.row_stride &&
                    task.source.batch_stride == task.heads * task.source.head_stride;
  if (!even || task.gain != nullptr || task.head_gain != nullptr || task.lengths != nullptr) return task;
  task.rows *= std::int64_t{task.batch} * task.heads;
  task.batch = task.heads = 1;
  return task;
}

cudaError_t run(const RowTask& given, const Launch& launch) {
  const RowTask task = merged(given);
  return with_element(task.type, [&]<typename T>(T) {
    return task.gain != nullptr ? launch_type<T, true>(task, launch.stream)
                                : launch_type<T, false>(task, launch.stream);
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

RowTask value_rows(const AttentionProblem& p) {
  RowTask task = key_rows(p);
  task.source = p.v;
  task.dim = static_cast<int>(p.value_dim);
  return task;
}

RowTask output_rows(const AttentionProblem& p) {
  RowTask task = query_rows(p);
  task.dim = static_cast<int>(p.value_dim);
  return task;
}

std::int64_t row_count(const RowTask& task) { return task.batch * task.heads * task.rows; }

// What prepared rows take, in floats.
std::int64_t row_floats(const RowTask& task) {
  return ceil_div(row_count(task) * task.prepared_dim(), task.type == StorageType::float32 ? 1 : 2);
}

bool pads(const RowTask& task) { return task.padded_dim() != task.dim; }

bool has_head_gain(const AttentionProblem& p) { return p.gain != nullptr && p.gain_dim_stride == 0; }

bool has_second_half(const AttentionProblem& p) {
  return p.type != StorageType::float32 && p.gain != nullptr && !has_head_gain(p) && p.dim <= kHalfRow;
}

bool changes_queries(const AttentionProblem& p) { return p.normalize_q || p.gain != nullptr; }

bool changes_keys(const AttentionProblem& p) { return p.normalize_k || has_second_half(p); }

// 256 bytes: what every kind of access is content with.
std::int64_t in_whole_pieces(std::int64_t floats) { return round_up(floats, 64); }

// Hands out pieces of the workspace, or counts them where there is none.
struct Pieces {
  float* base;
  std::int64_t used = 0;

  float* take(std::int64_t floats) {
    float* piece = base == nullptr ? nullptr : base + used;
    used += in_whole_pieces(floats);
    return piece;
  }
};

struct Layout {
  RowTask queries;
  RowTask keys;
  RowTask values;
  std::int64_t floats;

  Layout(const AttentionProblem& p, float* workspace)
      : queries(query_rows(p)), keys(key_rows(p)), values(value_rows(p)), floats(0) {
    Pieces pieces{workspace};
    if (has_second_half(p)) {
      queries.second_half = SecondHalf::remainder;
      keys.second_half = SecondHalf::copy;
    }
    if (changes_queries(p) || pads(queries)) queries.destination = pieces.take(row_floats(queries));
    if (changes_keys(p) || pads(keys)) keys.destination = pieces.take(row_floats(keys));
    if (pads(values)) values.destination = pieces.take(row_floats(values));
    if (p.normalize_q) queries.reciprocals = pieces.take(row_count(queries));
    if (p.normalize_k) keys.reciprocals = pieces.take(row_count(keys));
    if (changes_queries(p)) queries.factors = pieces.take(row_count(queries));
    if (p.normalize_k) keys.factors = pieces.take(row_count(keys));
    floats = pieces.used;
  }
};

Input dense(const RowTask& task) {
  const int dim = task.prepared_dim();
  return {task.destination, task.heads * task.rows * dim, task.rows * dim, dim};
}

}  // namespace

std::int64_t prepare_workspace(const AttentionProblem& problem) { return Layout(problem, nullptr).floats; }

cudaError_t prepare(const AttentionProblem& problem, Preparation preparation, float* workspace, const Launch& launch,
                    RemainingProblem& result) {
  auto [queries, keys, values, floats] = Layout(problem, workspace);
  const bool gain_is_factor = problem.gain == nullptr || has_head_gain(problem);
  if (preparation == Preparation::rounded || !gain_is_factor) queries.factors = nullptr;
  if (preparation == Preparation::rounded) keys.factors = nullptr;
  result = {.problem = problem,
            .query_reciprocals = queries.reciprocals,
            .key_reciprocals = keys.reciprocals,
            .query_factors = queries.factors,
            .key_factors = keys.factors,
            .repeats_keys = has_second_half(problem)};
  AttentionProblem& rest = result.problem;
  if (changes_queries(problem)) {
    queries.normalize = problem.normalize_q;
    queries.gain_head_stride = problem.gain_head_stride;
    queries.gain_dim_stride = problem.gain_dim_stride;
    if (queries.factors != nullptr) {
      queries.head_gain = problem.gain;
      if (!problem.normalize_q && !pads(queries)) queries.destination = nullptr;
    } else {
      queries.gain = problem.gain;
      queries.scale = problem.scale;
      rest.scale = 1.0F;
    }
    rest.normalize_q = false;
    rest.gain = nullptr;
  }
  keys.normalize = problem.normalize_k;
  rest.normalize_k = false;
  for (const auto& [task, rows] :
       {std::pair(&queries, &rest.q), std::pair(&keys, &rest.k), std::pair(&values, &rest.v)}) {
    if (task->destination == nullptr && task->factors == nullptr) continue;
    if (const cudaError_t error = run(*task, launch); error != cudaSuccess) return error;
    if (task->destination != nullptr) *rows = dense(*task);
  }
  rest.dim = queries.prepared_dim();
  rest.value_dim = values.prepared_dim();
  return cudaSuccess;
}

std::int64_t output_gradient_workspace(const AttentionProblem& problem) {
  const RowTask task = output_rows(problem);
  return pads(task) ? in_whole_pieces(row_floats(task)) : 0;
}

cudaError_t prepare_output_gradients(const AttentionProblem& problem, float* workspace, const Launch& launch,
                                     Input& grad_out) {
  RowTask task = output_rows(problem);
  if (!pads(task)) return cudaSuccess;
  task.source = grad_out;
  task.destination = workspace;
  grad_out = dense(task);
  return run(task, launch);
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
