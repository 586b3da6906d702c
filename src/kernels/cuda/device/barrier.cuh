#pragma once

// Barriers in shared memory at which arriving and waiting are apart. A wait names the parity of the phase it waits for.

#include <cstdint>

namespace quest::kernels::cuda {

__device__ inline void initialize_barrier(uint32_t barrier, int arrivals = 1) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}

__device__ inline void arrive(uint32_t barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}

// By a predicate: behind a branch the compiler no longer knows that a warp is together.
__device__ inline void arrive_unless(uint32_t condition, uint32_t barrier) {
  asm volatile(
      "{ .reg .pred p; setp.eq.b32 p, %1, 0;\n"
      "@p mbarrier.arrive.shared::cta.b64 _, [%0]; }" ::"r"(barrier),
      "r"(condition)
      : "memory");
}

// One arrival for the whole warp, whose accesses to shared memory come before it.
__device__ inline void warp_arrives(uint32_t barrier) {
  __syncwarp();
  arrive_unless(threadIdx.x % 32, barrier);
}

// When all copies that this thread has started so far are there.
__device__ inline void arrive_with_copies(uint32_t barrier) {
  asm volatile("cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%0];" ::"r"(barrier) : "memory");
}

// Hopper lets the warp sleep, GPUs before it ask again and again.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 900
inline constexpr char kWaitInstruction[] = "mbarrier.test_wait";
#else
inline constexpr char kWaitInstruction[] = "mbarrier.try_wait";
#endif

__device__ inline void wait_barrier(uint32_t barrier, int parity) {
  asm volatile(
      "{ .reg .pred done;\n"
      "again: %2.parity.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again; }" ::"r"(barrier),
      "r"(parity), "C"(kWaitInstruction)
      : "memory");
}

}  // namespace quest::kernels::cuda
