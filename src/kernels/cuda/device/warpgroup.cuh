#pragma once

// Warpgroups, the four warps of a product with wgmma, in a block of several.

#include <cuda_runtime.h>

namespace quest::kernels::cuda {

inline constexpr int kGroupRows = 64;
// The warpgroup's number in the block.
__device__ inline int group_id() { return __shfl_sync(0xffffffffu, threadIdx.x / 128, 0); }

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

}  // namespace quest::kernels::cuda
