#pragma once

#include <cuda.h>

#include <cstdint>

#include "kernels/cuda/device/barrier.cuh"

namespace quest::kernels::cuda {

// The bulk tensor copy engine: [rows][64] boxes between global tensors (batch, head, row, column) and swizzled tiles.

__device__ inline void publish_barriers() { asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory"); }

__device__ inline void expect_bytes(uint32_t barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes) : "memory");
}

// What lies past an end of the tensor arrives as zeros.
__device__ inline void load_box(uint32_t tile, const CUtensorMap& map, int first_column, int first_row, int head,
                                int batch, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], "
      "[%6];" ::"r"(tile),
      "l"(&map), "r"(first_column), "r"(first_row), "r"(head), "r"(batch), "r"(barrier)
      : "memory");
}

// Bytes that lie as they are used, both addresses multiples of 16.
__device__ inline void load_bytes(uint32_t destination, const void* source, int bytes, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}

// Rows past the end of the tensor are left out by the engine.
__device__ inline void store_box(const CUtensorMap& map, int first_column, int first_row, int head, int batch,
                                 uint32_t tile) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%1, %2, %3, %4}], [%5];" ::"l"(&map),
               "r"(first_column), "r"(first_row), "r"(head), "r"(batch), "r"(tile)
               : "memory");
}

// Adds 32-bit integers to those in global memory. The caller decides by a predicate and not by a branch, which must not
// stand between products and the wait for them.
__device__ inline void add_integers_if(bool condition, int32_t* destination, uint32_t source, int bytes) {
  asm volatile(
      "{ .reg .pred p; setp.ne.b32 p, %3, 0;\n"
      "@p cp.reduce.async.bulk.global.shared::cta.bulk_group.add.s32 [%0], [%1], %2;\n"
      "@p cp.async.bulk.commit_group; }" ::"l"(destination),
      "r"(source), "r"(bytes), "r"(static_cast<int>(condition))
      : "memory");
}

__device__ inline void commit_stores() { asm volatile("cp.async.bulk.commit_group;" ::: "memory"); }
__device__ inline void wait_stores() { asm volatile("cp.async.bulk.wait_group 0;" ::: "memory"); }
__device__ inline void wait_stores_read() { asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory"); }

// Ordinary accesses to shared memory and those of the copy engine or wgmma, on the two sides of a barrier.
__device__ inline void order_with_engines() { asm volatile("fence.proxy.async.shared::cta;" ::: "memory"); }

}  // namespace quest::kernels::cuda
