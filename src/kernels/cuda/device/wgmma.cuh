#pragma once

#include "kernels/cuda/device/tile.cuh"

namespace quest::kernels::cuda {

// wgmma over swizzled tiles: four warps multiply 64 x 16 by 16 x N. A warp holds 16 of the 64 rows,
// in the layouts of Fragment and Accumulator.

// The four warps, by their number in the block.
inline constexpr int kGroupRows = 64;
__device__ inline int group_id() { return __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); }

struct Operand {
  uint32_t low;
  static constexpr uint32_t kHigh = 1024 >> 4 | 1 << 30;  // bytes between groups of eight rows; 128-byte swizzle
};

// Rows of the tile are rows (or columns) of the product and its columns are summed over: 16 of them at 16 * block.
template <int kRows>
__device__ Operand sum_over_columns(SwizzledTile<kRows> tile, int first_row, int block) {
  return {(tile.base >> 4) + first_row * 8 + 2 * block};
}

// Rows of the tile are summed over, 16 of them; its columns are columns of the product.
template <int kRows>
__device__ Operand sum_over_rows(SwizzledTile<kRows> tile, int first_row) {
  return {(tile.base >> 4) + first_row * 8};
}

// Accumulators of kColumns columns as the left operand of the next product, padded with zeros to a multiple of 16.
template <int kColumns, typename T = __nv_bfloat16>
__device__ void pack_all(Fragment (&packed)[(kColumns + 15) / 16], const Accumulator (&acc)[kColumns / 8]) {
#pragma unroll
  for (int block = 0; block < kColumns / 16; ++block) packed[block] = pack<T>(acc[2 * block], acc[2 * block + 1]);
  if constexpr (kColumns % 16 != 0) packed[kColumns / 16] = pack<T>(acc[kColumns / 8 - 1], {});
}

__device__ inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

__device__ inline void wait_products() { asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory"); }

// Both operands from shared memory, summed over columns.

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[2], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %12, 0; mov.b64 a, {%8,%9}; mov.b64 b, {%10,%11};"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32%13%13 {%0,%1,%2,%3,%4,%5,%6,%7}, a, b, p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[4], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %20, 0; mov.b64 a, {%16,%17}; mov.b64 b, {%18,%19};"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32%21%21 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
      "a, b, p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[6], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %28, 0; mov.b64 a, {%24,%25}; mov.b64 b, {%26,%27};"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32%29%29 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23}, a, b, p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[7], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %32, 0; mov.b64 a, {%28,%29}; mov.b64 b, {%30,%31};"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32%33%33 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27}, a, b, "
      "p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[12], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %52, 0; mov.b64 a, {%48,%49}; mov.b64 b, {%50,%51};"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32%53%53 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47}, a, b, p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

template <typename T = __nv_bfloat16>
__device__ void multiply_shared(Accumulator (&c)[14], Operand a, Operand b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %60, 0; mov.b64 a, {%56,%57}; mov.b64 b, {%58,%59};"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32%61%61 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55}, a, b, "
      "p, 1, 1, 0, 0; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3]),
        "+f"(c[12].x[0]), "+f"(c[12].x[1]), "+f"(c[12].x[2]), "+f"(c[12].x[3]), "+f"(c[13].x[0]), "+f"(c[13].x[1]),
        "+f"(c[13].x[2]), "+f"(c[13].x[3])
      : "r"(a.low), "n"(Operand::kHigh), "r"(b.low), "n"(Operand::kHigh), "r"(static_cast<int>(accumulate)),
        "C"(Element<T>::kName));
}

// The left operand from registers, the right one from shared memory, summed over its rows; always accumulates.
template <typename T = __nv_bfloat16>
__device__ void multiply_register(Accumulator (&c)[8], const Fragment& a, Operand b) {
  asm volatile(
      "{ .reg .b64 b; mov.b64 b, {%36,%37};"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32%38%38 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31}, {%32,%33,%34,%35}, b, 1, 1, 1, 1; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "n"(Operand::kHigh), "C"(Element<T>::kName));
}

}  // namespace quest::kernels::cuda
