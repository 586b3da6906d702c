#pragma once

// Where the warps of a backward block that work in pairs meet, each of them once in a step. Between arriving and
// waiting a warp does what needs no other one.

#include "kernels/cuda/device/barrier.cuh"
#include "kernels/cuda/portable/shared_tile.cuh"

namespace quest::kernels::cuda::portable {

enum class Meeting {
  rows_landed,    // the streamed rows of the step are in shared memory
  scores_shared,  // so are the weights and gradients of scores of all warps
  second_free,    // nobody reads the second streamed tile any more
  step_done,      // nor anything else of the step
};

template <int kWarps>
struct PairBarriers {
  uint64_t states[4];

  __device__ uint32_t at(Meeting meeting) const { return shared_address(states + static_cast<int>(meeting)); }
  // By one thread, before the first meeting of all.
  __device__ void initialize() const {
    for (const auto meeting :
         {Meeting::rows_landed, Meeting::scores_shared, Meeting::second_free, Meeting::step_done}) {
      initialize_barrier(at(meeting), kWarps * 32);
    }
  }
  __device__ void arrive(Meeting meeting) const { cuda::arrive(at(meeting)); }
  __device__ void arrive_when_landed() const { arrive_with_copies(at(Meeting::rows_landed)); }
  __device__ void wait(Meeting meeting, int parity) const { wait_barrier(at(meeting), parity); }
};

// For the other warp of a pair alone; barrier 0 is that of all threads.
__device__ inline void wait_for_pair() { asm volatile("bar.sync %0, 64;" ::"r"(1 + warp_id() / 2) : "memory"); }

// Of blocks without pairs.
template <>
struct PairBarriers<0> {};

}  // namespace quest::kernels::cuda::portable
