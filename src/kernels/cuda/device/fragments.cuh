#pragma once

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/numbers.cuh"

namespace quest::kernels::cuda {

// One warp's 16x16 operand, of a 16-bit type, of mma.m16n8k16, in the order of the A operand:
// [0] rows 0-7 depth 0-7, [1] rows 8-15 depth 0-7, [2] rows 0-7 depth 8-15, [3] rows 8-15 depth 8-15.
struct Fragment {
  uint32_t x[4];
};

// A 16x8 float accumulator: lane 4g+t holds columns 2t, 2t+1 of row g in [0..1] and of row g+8 in [2..3].
struct Accumulator {
  float x[4];
};

__device__ inline int lane_id() { return threadIdx.x % 32; }
__device__ inline int warp_id() { return threadIdx.x / 32; }
__device__ inline int lane_row() { return lane_id() / 4; }
__device__ inline int lane_column() { return lane_id() % 4 * 2; }

template <typename T = __nv_bfloat16>
__device__ void multiply_add(Accumulator& c, const Fragment& a, uint32_t b0, uint32_t b1) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32%10%10.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c.x[0]), "+f"(c.x[1]), "+f"(c.x[2]), "+f"(c.x[3])
               : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b0), "r"(b1), "C"(Element<T>::kName));
}

// Adds the row sums of a to every column of c: a product with ones, which costs no addition and no shuffle. Not for use
// beside wgmma, whose queue it would wait for.
template <typename T = __nv_bfloat16>
__device__ void add_row_sums(Accumulator& c, const Fragment& a) {
  multiply_add<T>(c, a, Element<T>::kOnes, Element<T>::kOnes);
}

__device__ inline Fragment load_matrix(uint32_t address) {
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3])
               : "r"(address));
  return f;
}

__device__ inline Fragment load_matrix_transposed(uint32_t address) {
  Fragment f;
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(f.x[0]), "=r"(f.x[1]), "=r"(f.x[2]), "=r"(f.x[3])
               : "r"(address));
  return f;
}

__device__ inline void store_matrix(uint32_t address, const Fragment& f) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" ::"r"(address), "r"(f.x[0]), "r"(f.x[1]),
               "r"(f.x[2]), "r"(f.x[3])
               : "memory");
}

__device__ inline float exp2_fast(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <typename T = __nv_bfloat16>
__device__ uint32_t pack(float low, float high) {
  return Element<T>::pack(low, high);
}

template <typename T = __nv_bfloat16>
__device__ float low_half(uint32_t packed) {
  return Element<T>::low(packed);
}

template <typename T = __nv_bfloat16>
__device__ float high_half(uint32_t packed) {
  return Element<T>::high(packed);
}

// Two neighbouring 16x8 accumulators have exactly the register layout of one 16x16 A operand.
template <typename T = __nv_bfloat16>
__device__ Fragment pack(const Accumulator& left, const Accumulator& right) {
  return {{pack<T>(left.x[0], left.x[1]), pack<T>(left.x[2], left.x[3]), pack<T>(right.x[0], right.x[1]),
           pack<T>(right.x[2], right.x[3])}};
}

__device__ inline float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

__device__ inline float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

template <typename T = __nv_bfloat16>
__device__ float dot_pair(uint32_t a, uint32_t b, float sum) {
  return fmaf(low_half<T>(a), low_half<T>(b), fmaf(high_half<T>(a), high_half<T>(b), sum));
}

__device__ inline float reciprocal_fast(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float reciprocal_root(float x) {
  float y;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// Squares of both halves added to packed sums, all in the 16-bit type.
template <typename T = __nv_bfloat16>
__device__ uint32_t add_squares_coarsely(uint32_t sums, uint32_t packed) {
  asm("fma.rn%2x2 %0, %1, %1, %0;" : "+r"(sums) : "r"(packed), "C"(Element<T>::kName));
  return sums;
}

// A plain assignment through a uint4 pointer was seen compiled to four 4-byte stores.
__device__ inline void store_global(void* destination, const uint32_t (&x)[4]) {
  asm volatile("st.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(destination), "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3])
               : "memory");
}

// Word j of lane t of each quad becomes word t of lane j: turns 16-byte global accesses into fragments and back.
__device__ inline void transpose_quad(uint32_t (&x)[4]) {
  const bool odd = lane_id() & 1;
  const bool upper = lane_id() & 2;
#pragma unroll
  for (int word = 0; word < 4; word += 2) {
    const uint32_t received = __shfl_xor_sync(0xffffffffu, odd ? x[word] : x[word + 1], 1);
    x[word] = odd ? received : x[word];
    x[word + 1] = odd ? x[word + 1] : received;
  }
#pragma unroll
  for (int word = 0; word < 2; ++word) {
    const uint32_t received = __shfl_xor_sync(0xffffffffu, upper ? x[word] : x[word + 2], 2);
    x[word] = upper ? received : x[word];
    x[word + 2] = upper ? x[word + 2] : received;
  }
}

}  // namespace quest::kernels::cuda
