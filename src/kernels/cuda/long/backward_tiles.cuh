#pragma once

// The backward's products. A block owns 128 keys and visits tiles of queries.

#include "kernels/cuda/device/warpgroup.cuh"
#include "kernels/cuda/long/backward_fetch.cuh"
#include "kernels/cuda/long/backward_keys.cuh"

namespace quest::kernels::cuda::long_sequence {

template <typename T, typename Tile>
__global__ void __launch_bounds__(kBackwardThreads, 1) multiply_tiles(const __grid_constant__ BackwardTensors p) {
  extern __shared__ __align__(1024) uint8_t shared[];
  const BackwardMemory<Tile> memory{static_cast<uint32_t>(__cvta_generic_to_shared(shared))};
  let_next_start();
  if (threadIdx.x == 0) memory.initialize_barriers();
  __syncthreads();
  const KeyBlock block(p);
  const Visits visits = Visits::of<Tile>(p, block.tile);
  if (warp_id() >= 8) {
    keep_registers<24>();
    if (threadIdx.x == 256) Fetcher<Tile>{p, memory, block, visits}.run();
  } else {
    take_registers<240>();
    KeyOwner<T, Tile>{p, memory, block, visits}.run();
  }
}

}  // namespace quest::kernels::cuda::long_sequence
