#pragma once

#include "kernels/cuda/device/products.cuh"

namespace quest::kernels::cuda {

// wgmma with the left operand from registers and the right one from a column tile: four warps multiply 64 x 16 by
// 16 x N.

// The descriptor: an address and the distances, all in units of 16 bytes, between the 8x8 matrices that follow each
// other along the sum (low word) and along the product's columns (high word).
template <bool kRowsSummed>
struct ColumnOperand {
  static constexpr int kTransposed = kRowsSummed;
  uint32_t low;
  uint32_t high;
};

// Rows of the tile from first_row on are columns of the product; columns 16 * step .. 16 * step + 15 are summed over.
template <int D>
__device__ ColumnOperand<false> sum_columns(ColumnTile<D> tile, int first_row, int step) {
  const uint32_t stride = tile.column_stride >> 4;
  return {(tile.base >> 4) + first_row + 2 * step * stride + (stride << 16), 8};
}

// Rows first_row .. first_row + 15 are summed over; columns of the tile are columns of the product.
template <int D>
__device__ ColumnOperand<true> sum_rows(ColumnTile<D> tile, int first_row) {
  return {(tile.base >> 4) + first_row + (8 << 16), tile.column_stride >> 4};
}

// More numbers of columns than products.cuh has.

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[1], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %10, 0; mov.b64 b, {%8,%9};"
      "wgmma.mma_async.sync.aligned.m64n8k16.f32%12%12 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, b, p, 1, 1, %11; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[2], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %14, 0; mov.b64 b, {%12,%13};"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32%16%16 "
      "{%0,%1,%2,%3,%4,%5,%6,%7}, {%8,%9,%10,%11}, b, p, 1, 1, %15; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[4], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %22, 0; mov.b64 b, {%20,%21};"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32%24%24 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, {%16,%17,%18,%19}, b, p, 1, 1, %23; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[10], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %46, 0; mov.b64 b, {%44,%45};"
      "wgmma.mma_async.sync.aligned.m64n80k16.f32%48%48 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39}, {%40,%41,%42,%43}, b, p, 1, 1, %47; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[12], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %54, 0; mov.b64 b, {%52,%53};"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32%56%56 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47}, {%48,%49,%50,%51}, b, p, 1, 1, %55; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

}  // namespace quest::kernels::cuda
