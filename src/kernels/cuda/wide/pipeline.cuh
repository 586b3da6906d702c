#pragma once

#include "kernels/cuda/device/tile.cuh"
#include "kernels/cuda/device/tma.cuh"
#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident::wide {

// A block of four warpgroups, one per tile of 64 rows, stays on its multiprocessor and works through the heads
// blockIdx.x, blockIdx.x + gridDim.x, ...: while it computes on one stage of shared memory, the copy engine fills the
// other with the next head.
inline constexpr int kWideRows = 208;
inline constexpr int kWideGroups = 4;
inline constexpr int kWideWarps = kWideGroups * 4;
inline constexpr int kWideThreads = kWideWarps * 32;
// Below this, groups would have no row at all.
inline constexpr int kWideFewestRows = 129;
// The copies are started by the warp that has the fewest rows.
inline constexpr int kCopyingThread = kWideThreads - 32;

using WideTile = SwizzledTile<kWideRows>;

// The last group may read rows this far past the last tile in shared memory.
inline constexpr int kOverread = (kWideGroups * kGroupRows - kWideRows) * 128;

__device__ inline void synchronize_group(int group) { asm volatile("bar.sync %0, 128;" ::"r"(group + 1) : "memory"); }

// A barrier of the group that also says whether the condition held in every thread.
__device__ inline bool synchronize_group_all(int group, bool condition) {
  int all;
  asm volatile(
      "{ .reg .pred mine, all; setp.ne.b32 mine, %2, 0; bar.red.and.pred all, %1, 128, mine; selp.b32 %0, 1, 0, all; }"
      : "=r"(all)
      : "r"(group + 1), "r"(static_cast<int>(condition))
      : "memory");
  return all != 0;
}

// The heads that a persistent block visits, every step-th one, without a division per head.
struct HeadWalk {
  int heads;
  HeadIndex step;
  HeadIndex next;

  __device__ HeadWalk(int heads, int first, int step)
      : heads(heads), step{step / heads, step % heads, step}, next{first / heads, first % heads, first} {}

  // The current head, moving on to the next.
  __device__ HeadIndex advance() {
    const HeadIndex current = next;
    next.batch += step.batch;
    next.head += step.head;
    next.dense += step.dense;
    if (next.head >= heads) {
      next.head -= heads;
      ++next.batch;
    }
    return current;
  }
};

template <typename Stage>
struct Pipeline {
  static constexpr int kAlignment = 1024;
  static constexpr int kBytes = kAlignment + 2 * Stage::kBytes + kOverread;

  uint32_t base;
  uint32_t barriers;

  __device__ Pipeline(unsigned char* shared, const uint64_t* barrier_memory) {
    base = (static_cast<uint32_t>(__cvta_generic_to_shared(shared)) + kAlignment - 1) / kAlignment * kAlignment;
    barriers = static_cast<uint32_t>(__cvta_generic_to_shared(barrier_memory));
    if (threadIdx.x == 0) {
      initialize_barrier(barriers);
      initialize_barrier(barriers + 8);
      publish_barriers();
    }
    __syncthreads();
  }

  // load(stage base, head, barrier) starts Stage::kLoadedBytes of copies. compute(stage base, head, next head,
  // prefetch) calls prefetch, which starts the loads of the next head, after a block-wide barrier that ends all use of
  // the other stage.
  template <typename Load, typename Compute>
  __device__ void run(const HeadShape& shape, Load load, Compute compute) const {
    const int count = shape.head_count();
    const auto start = [&](HeadIndex head, int stage) {
      if (threadIdx.x != kCopyingThread || head.dense >= count) return;
      order_with_engines();
      expect_bytes(barriers + 8 * stage, Stage::kLoadedBytes);
      load(base + stage * Stage::kBytes, head, barriers + 8 * stage);
    };
    HeadWalk walk(shape.heads, blockIdx.x, gridDim.x);
    start(walk.next, 0);
    for (int turn = 0; walk.next.dense < count; ++turn) {
      const int stage = turn % 2;
      const HeadIndex head = walk.advance();
      wait_barrier(barriers + 8 * stage, turn / 2 % 2);
      compute(base + stage * Stage::kBytes, head, walk.next, [&] { start(walk.next, stage ^ 1); });
    }
  }
};

}  // namespace quest::kernels::cuda::resident::wide
