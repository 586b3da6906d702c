#pragma once

#include "kernels/cuda/device/wgmma.cuh"

namespace quest::kernels::cuda {

// wgmma over panels of several swizzled tiles, with either operand read along rows or columns, and what a block of
// specialised warpgroups needs besides.

// A [kRows][kColumns] matrix of a 16-bit type in shared memory, as blocks of 64 columns, each a SwizzledTile.
template <int kRowCount, int kColumnCount>
struct Panel {
  static constexpr int kRows = kRowCount;
  static constexpr int kColumns = kColumnCount;
  static constexpr int kBlockBytes = kRows * 128;
  static constexpr int kBytes = kColumns / 64 * kBlockBytes;

  uint32_t base;

  __device__ uint32_t block(int index) const { return base + index * kBlockBytes; }
  __device__ uint32_t chunk_address(int row, int chunk) const {
    return SwizzledTile<kRows>{block(chunk / 8)}.chunk_address(row, chunk % 8);
  }
};

// Descriptors of operands; the high word says: 1024 bytes between groups of eight rows, 128-byte swizzle.
inline constexpr uint32_t kOperandHigh = 1024 >> 4 | 1 << 30;

struct ColumnsSummed {
  static constexpr int kTransposed = 0;
  static constexpr uint32_t high = kOperandHigh;
  uint32_t low;
};

struct RowsSummed {
  static constexpr int kTransposed = 1;
  static constexpr uint32_t high = kOperandHigh;
  uint32_t low;
};

// Rows of the panel from first_row on are rows of A or columns of B; columns 16 * step .. 16 * step + 15 are summed
// over.
template <int kRows, int kColumns>
__device__ ColumnsSummed sum_columns(Panel<kRows, kColumns> panel, int first_row, int step) {
  return {(panel.block(step / 4) >> 4) + first_row * 8 + step % 4 * 2};
}

// Rows first_row .. first_row + 15 are summed over; columns of the panel from the given block of 64 on are rows of A or
// columns of B.
template <int kRows, int kColumns>
__device__ RowsSummed sum_rows(Panel<kRows, kColumns> panel, int first_row, int first_block = 0) {
  return {(panel.block(first_block) >> 4) + first_row * 8 + (Panel<kRows, kColumns>::kBlockBytes >> 4 << 16)};
}

// The same for columns of the panel's block and, after them, 8 columns of a block of 16 rows that lies behind the
// panel.
template <int kRows>
__device__ RowsSummed sum_rows_beside(Panel<kRows, 64> panel, int first_row, uint32_t columns_beside) {
  const uint32_t address = panel.base >> 4;
  const uint32_t first = address + (((columns_beside >> 4) - address) << 16);
  return {first + first_row * 8 - (first_row * 8 << 16)};
}

// Until at most kPending of this warpgroup's committed groups are unfinished.
template <int kPending>
__device__ void wait_products_until() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// Keeps the compiler from moving uses of registers across a wait for the products that write or read them.
template <int kCount>
__device__ void pin(Accumulator (&c)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+f"(c[i].x[0]), "+f"(c[i].x[1]), "+f"(c[i].x[2]), "+f"(c[i].x[3])::"memory");
}

template <int kCount>
__device__ void pin(Fragment (&a)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i)
    asm volatile("" : "+r"(a[i].x[0]), "+r"(a[i].x[1]), "+r"(a[i].x[2]), "+r"(a[i].x[3])::"memory");
}

// Of the block's registers; by all warps of a warpgroup.
template <int kCount>
__device__ void keep_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

template <int kCount>
__device__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}

// Barriers of part of the block; 0 is __syncthreads()'s.
__device__ inline void meet(int barrier, int threads) {
  asm volatile("barrier.cta.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

__device__ inline void announce(int barrier, int threads) {
  asm volatile("barrier.cta.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Whether the condition holds for any of the threads.
__device__ inline bool meet_any(int barrier, int threads, bool condition) {
  int any;
  asm volatile("{ .reg .pred p, q; setp.ne.b32 p, %3, 0; barrier.cta.red.or.pred q, %1, %2, p; selp.b32 %0, 1, 0, q; }"
               : "=r"(any)
               : "r"(barrier), "r"(threads), "r"(static_cast<int>(condition))
               : "memory");
  return any != 0;
}

// c = a b, or c += a b, both operands from shared memory.

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[8], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %36, 0; mov.b64 a, {%32,%33}; mov.b64 b, {%34,%35};"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32%39%39 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31}, a, b, p, 1, 1, %37, %38; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3])
      : "r"(a.low), "n"(kOperandHigh), "r"(b.low), "n"(kOperandHigh), "r"(static_cast<int>(accumulate)),
        "n"(A::kTransposed), "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[16], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %68, 0; mov.b64 a, {%64,%65}; mov.b64 b, {%66,%67};"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32%71%71 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%"
      "58,%59,%60,%61,%62,%63}, a, b, p, 1, 1, %69, %70; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3]),
        "+f"(c[12].x[0]), "+f"(c[12].x[1]), "+f"(c[12].x[2]), "+f"(c[12].x[3]), "+f"(c[13].x[0]), "+f"(c[13].x[1]),
        "+f"(c[13].x[2]), "+f"(c[13].x[3]), "+f"(c[14].x[0]), "+f"(c[14].x[1]), "+f"(c[14].x[2]), "+f"(c[14].x[3]),
        "+f"(c[15].x[0]), "+f"(c[15].x[1]), "+f"(c[15].x[2]), "+f"(c[15].x[3])
      : "r"(a.low), "n"(kOperandHigh), "r"(b.low), "n"(kOperandHigh), "r"(static_cast<int>(accumulate)),
        "n"(A::kTransposed), "n"(B::kTransposed), "C"(Element<T>::kName));
}

// The left operand from registers.

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[8], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %38, 0; mov.b64 b, {%36,%37};"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32%40%40 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31}, {%32,%33,%34,%35}, b, p, 1, 1, %39; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[16], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %70, 0; mov.b64 b, {%68,%69};"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32%72%72 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%"
      "58,%59,%60,%61,%62,%63}, {%64,%65,%66,%67}, b, p, 1, 1, %71; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3]),
        "+f"(c[12].x[0]), "+f"(c[12].x[1]), "+f"(c[12].x[2]), "+f"(c[12].x[3]), "+f"(c[13].x[0]), "+f"(c[13].x[1]),
        "+f"(c[13].x[2]), "+f"(c[13].x[3]), "+f"(c[14].x[0]), "+f"(c[14].x[1]), "+f"(c[14].x[2]), "+f"(c[14].x[3]),
        "+f"(c[15].x[0]), "+f"(c[15].x[1]), "+f"(c[15].x[2]), "+f"(c[15].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename B>
__device__ void multiply(Accumulator (&c)[9], const Fragment& a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 b; setp.ne.b32 p, %42, 0; mov.b64 b, {%40,%41};"
      "wgmma.mma_async.sync.aligned.m64n72k16.f32%44%44 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35}, {%36,%37,%38,%39}, b, p, 1, 1, %43; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3])
      : "r"(a.x[0]), "r"(a.x[1]), "r"(a.x[2]), "r"(a.x[3]), "r"(b.low), "r"(b.high), "r"(static_cast<int>(accumulate)),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

}  // namespace quest::kernels::cuda
