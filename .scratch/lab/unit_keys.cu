// Memory-bound kernels around another attention engine: keys to unit keys before it, gradient projection after it.
#include <type_traits>

#include "load.cuh"

namespace quest::lab {
namespace {

constexpr int kThreads = 256;

// A quad owns kRows rows and starts all their loads before using one.
template <int D>
struct QuadRows {
  static constexpr int kPerLane = (D / 8 + 3) / 4;
  static constexpr int kRows = kPerLane >= 4 ? 1 : 4 / kPerLane;
  uint32_t words[kRows][kPerLane * 4];

  __device__ static int64_t first_row() { return (int64_t{blockIdx.x} * kThreads + threadIdx.x) / 4 * kRows; }
  __device__ static int chunk(int i) { return lane_id() % 4 + 4 * i; }
  __device__ static bool holds(int64_t row, int64_t rows, int i) { return row < rows && chunk(i) < D / 8; }

  __device__ void load(const __nv_bfloat16* source, int64_t rows) {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const int64_t row = first_row() + r;
        const auto* data = reinterpret_cast<const uint4*>(source + row * D);
        const uint4 x = holds(row, rows, i) ? data[chunk(i)] : uint4{0, 0, 0, 0};
        words[r][4 * i] = x.x;
        words[r][4 * i + 1] = x.y;
        words[r][4 * i + 2] = x.z;
        words[r][4 * i + 3] = x.w;
      }
    }
  }

  __device__ void store(__nv_bfloat16* destination, int64_t rows) const {
#pragma unroll
    for (int r = 0; r < kRows; ++r) {
#pragma unroll
      for (int i = 0; i < kPerLane; ++i) {
        const int64_t row = first_row() + r;
        if (!holds(row, rows, i)) continue;
        const uint32_t x[4] = {words[r][4 * i], words[r][4 * i + 1], words[r][4 * i + 2], words[r][4 * i + 3]};
        store_global(destination + row * D + chunk(i) * 8, x);
      }
    }
  }
};

template <int D>
__global__ void __launch_bounds__(kThreads)
    normalize_keys(const __nv_bfloat16* k, __nv_bfloat16* unit, float* reciprocal_norm, int64_t rows) {
  using Rows = QuadRows<D>;
  Rows keys;
  keys.load(k, rows);
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r) {
    const KeyScale scale = key_scale_unconditionally(keys.words[r]);
#pragma unroll
    for (int i = 0; i < Rows::kPerLane * 4; ++i) {
      uint32_t& word = keys.words[r][i];
      word = pack(low_half(word) * scale.power * scale.reciprocal, high_half(word) * scale.power * scale.reciprocal);
    }
    const int64_t row = Rows::first_row() + r;
    if (row < rows && lane_id() % 4 == 0) reciprocal_norm[row] = scale.reciprocal * scale.power;
  }
  keys.store(unit, rows);
}

template <int D>
__global__ void __launch_bounds__(kThreads)
    project_gradient(const __nv_bfloat16* unit, const float* reciprocal_norm, const __nv_bfloat16* grad_unit,
                     __nv_bfloat16* grad_k, int64_t rows) {
  using Rows = QuadRows<D>;
  Rows keys;
  Rows grads;
  keys.load(unit, rows);
  grads.load(grad_unit, rows);
#pragma unroll
  for (int r = 0; r < Rows::kRows; ++r) {
    const int64_t row = Rows::first_row() + r;
    const float norm = row < rows ? reciprocal_norm[row] : 0;
    float dot = 0;
#pragma unroll
    for (int i = 0; i < Rows::kPerLane * 4; ++i) dot = dot_pair(keys.words[r][i], grads.words[r][i], dot);
    dot = quad_sum(dot);
#pragma unroll
    for (int i = 0; i < Rows::kPerLane * 4; ++i) {
      const uint32_t key = keys.words[r][i];
      uint32_t& grad = grads.words[r][i];
      grad = pack(fmaf(-dot, low_half(key), low_half(grad)) * norm, fmaf(-dot, high_half(key), high_half(grad)) * norm);
    }
  }
  grads.store(grad_k, rows);
}

template <int D>
unsigned blocks_for(int64_t rows) {
  const int64_t rows_per_block = kThreads / 4 * QuadRows<D>::kRows;
  return static_cast<unsigned>((rows + rows_per_block - 1) / rows_per_block);
}

template <typename Run>
int with_dim(int dim, Run run) {
  switch (dim) {
    case 16:
      run(std::integral_constant<int, 16>{});
      break;
    case 32:
      run(std::integral_constant<int, 32>{});
      break;
    case 64:
      run(std::integral_constant<int, 64>{});
      break;
    case 80:
      run(std::integral_constant<int, 80>{});
      break;
    case 128:
      run(std::integral_constant<int, 128>{});
      break;
    default:
      return cudaErrorInvalidValue;
  }
  return cudaGetLastError();
}

}  // namespace
}  // namespace quest::lab

extern "C" int quest_normalize_keys(const __nv_bfloat16* k, __nv_bfloat16* unit, float* reciprocal_norm, int64_t rows,
                                    int dim, cudaStream_t stream) {
  return quest::lab::with_dim(dim, [&](auto d) {
    quest::lab::normalize_keys<d.value>
        <<<quest::lab::blocks_for<d.value>(rows), quest::lab::kThreads, 0, stream>>>(k, unit, reciprocal_norm, rows);
  });
}

extern "C" int quest_project_gradient(const __nv_bfloat16* unit, const float* reciprocal_norm,
                                      const __nv_bfloat16* grad_unit, __nv_bfloat16* grad_k, int64_t rows, int dim,
                                      cudaStream_t stream) {
  return quest::lab::with_dim(dim, [&](auto d) {
    quest::lab::project_gradient<d.value><<<quest::lab::blocks_for<d.value>(rows), quest::lab::kThreads, 0, stream>>>(
        unit, reciprocal_norm, grad_unit, grad_k, rows);
  });
}
