#pragma once

// wgmma, all of it: four warps multiply 64 x 16 by 16 x N and add the product to what they hold. A warp holds 16 of the
// 64 rows, in the layouts of Fragment and Accumulator.

#include "kernels/cuda/device/fragments.cuh"

namespace quest::kernels::cuda {

// Registers of a product, and what lies in shared memory for it, are its own from open_products() until the group that
// commit_products() closed has been waited for.
__device__ inline void open_products() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
__device__ inline void commit_products() { asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory"); }

// Until at most kPending of this warpgroup's committed groups are unfinished.
template <int kPending = 0>
__device__ void wait_products() {
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

// An operand in shared memory is a descriptor of two words, low and high, and kTransposed: whether rows of the matrix
// as it lies there are summed over (operands.cuh).

// c = a b, or c += a b, both operands from shared memory. A width of the product is written down where a kernel needs
// it.

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[2], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %12, 0; mov.b64 a, {%8,%9}; mov.b64 b, {%10,%11};"
      "wgmma.mma_async.sync.aligned.m64n16k16.f32%15%15 {%0,%1,%2,%3,%4,%5,%6,%7}, a, b, p, 1, 1, %13, %14; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3])
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[4], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %20, 0; mov.b64 a, {%16,%17}; mov.b64 b, {%18,%19};"
      "wgmma.mma_async.sync.aligned.m64n32k16.f32%23%23 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15}, "
      "a, b, p, 1, 1, %21, %22; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3])
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[6], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %28, 0; mov.b64 a, {%24,%25}; mov.b64 b, {%26,%27};"
      "wgmma.mma_async.sync.aligned.m64n48k16.f32%31%31 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23}, a, b, p, 1, 1, %29, "
      "%30; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3])
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[7], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %32, 0; mov.b64 a, {%28,%29}; mov.b64 b, {%30,%31};"
      "wgmma.mma_async.sync.aligned.m64n56k16.f32%35%35 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27}, a, b, "
      "p, 1, 1, %33, %34; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3])
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

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
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[12], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %52, 0; mov.b64 a, {%48,%49}; mov.b64 b, {%50,%51};"
      "wgmma.mma_async.sync.aligned.m64n96k16.f32%55%55 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47}, a, b, p, 1, 1, %53, %54; }"
      : "+f"(c[0].x[0]), "+f"(c[0].x[1]), "+f"(c[0].x[2]), "+f"(c[0].x[3]), "+f"(c[1].x[0]), "+f"(c[1].x[1]),
        "+f"(c[1].x[2]), "+f"(c[1].x[3]), "+f"(c[2].x[0]), "+f"(c[2].x[1]), "+f"(c[2].x[2]), "+f"(c[2].x[3]),
        "+f"(c[3].x[0]), "+f"(c[3].x[1]), "+f"(c[3].x[2]), "+f"(c[3].x[3]), "+f"(c[4].x[0]), "+f"(c[4].x[1]),
        "+f"(c[4].x[2]), "+f"(c[4].x[3]), "+f"(c[5].x[0]), "+f"(c[5].x[1]), "+f"(c[5].x[2]), "+f"(c[5].x[3]),
        "+f"(c[6].x[0]), "+f"(c[6].x[1]), "+f"(c[6].x[2]), "+f"(c[6].x[3]), "+f"(c[7].x[0]), "+f"(c[7].x[1]),
        "+f"(c[7].x[2]), "+f"(c[7].x[3]), "+f"(c[8].x[0]), "+f"(c[8].x[1]), "+f"(c[8].x[2]), "+f"(c[8].x[3]),
        "+f"(c[9].x[0]), "+f"(c[9].x[1]), "+f"(c[9].x[2]), "+f"(c[9].x[3]), "+f"(c[10].x[0]), "+f"(c[10].x[1]),
        "+f"(c[10].x[2]), "+f"(c[10].x[3]), "+f"(c[11].x[0]), "+f"(c[11].x[1]), "+f"(c[11].x[2]), "+f"(c[11].x[3])
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

template <typename T, typename A, typename B>
__device__ void multiply(Accumulator (&c)[14], A a, B b, bool accumulate) {
  asm volatile(
      "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, %60, 0; mov.b64 a, {%56,%57}; mov.b64 b, {%58,%59};"
      "wgmma.mma_async.sync.aligned.m64n112k16.f32%63%63 "
      "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%"
      "30,%31,%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55}, a, b, "
      "p, 1, 1, %61, %62; }"
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
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
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
      : "r"(a.low), "n"(A::high), "r"(b.low), "n"(B::high), "r"(static_cast<int>(accumulate)), "n"(A::kTransposed),
        "n"(B::kTransposed), "C"(Element<T>::kName));
}

// The left operand from registers.

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

}  // namespace quest::kernels::cuda
