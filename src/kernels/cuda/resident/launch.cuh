#pragma once

// From a problem to what the kernels that keep whole heads in shared memory are started with.

#include <algorithm>
#include <type_traits>
#include <utility>

#include "kernels/cuda/kernel_table.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/resident/problem.cuh"

namespace quest::kernels::cuda::resident {

// Of a multiprocessor's shared memory: what a block can have, and what the system takes besides.
inline constexpr int kSharedBytes = 232'448;
inline constexpr int kReservedBytes = 1024;

// That it is worth to run on a multiprocessor at a time.
inline int most_blocks(int blocks, int shared, const Launch& launch) {
  const int waiting = (blocks + launch.device.multiprocessors - 1) / launch.device.multiprocessors;
  const int fitting = (kSharedBytes + kReservedBytes) / (shared + kReservedBytes);
  return std::min({4, waiting, fitting});
}

template <typename T, typename Pointer>
auto heads(const HeadMatrix<Pointer>& tensor) {
  using Typed = std::conditional_t<std::is_const_v<std::remove_pointer_t<Pointer>>, const T, T>;
  return Heads<Typed>{static_cast<Typed*>(tensor.data), tensor.batch_stride, tensor.head_stride,
                      static_cast<int>(tensor.row_stride)};
}

inline HeadShape shape_of(const AttentionProblem& p) {
  const float key_factor = p.scale * kLog2E;
  return {.batch = static_cast<int>(p.batch),
          .heads = static_cast<int>(p.heads),
          .length = static_cast<int>(p.keys),
          .causal = p.causal != Causal::none,
          .scale = p.scale,
          .key_factor = key_factor,
          .projection = 1 / (key_factor * key_factor)};
}

template <typename T>
ForwardProblem<T> forward_problem(const AttentionProblem& p, const ForwardOutputs& o) {
  return {.shape = shape_of(p),
          .q = heads<T>(p.q),
          .k = heads<T>(p.k),
          .v = heads<T>(p.v),
          .out = heads<T>(o.out),
          .lse = o.lse};
}

template <typename T>
BackwardProblem<T> backward_problem(const AttentionProblem& p, const BackwardArguments& a, const Launch& launch) {
  // The two kinds of block differ in work. Where all run at once, each multiprocessor should get one of each; where
  // they queue, the two of a head should run together, for what they read is then in the cache.
  const int heads_in_all = static_cast<int>(p.batch * p.heads);
  return {.shape = shape_of(p),
          .neighbours = heads_in_all <= launch.device.multiprocessors ? heads_in_all : 1,
          .grad_out = heads<T>(a.grad_out),
          .q = heads<T>(p.q),
          .k = heads<T>(p.k),
          .v = heads<T>(p.v),
          .out = heads<T>(a.out),
          .lse = a.lse,
          .grad_q = heads<T>(a.grad_q),
          .grad_k = heads<T>(a.grad_k),
          .grad_v = heads<T>(a.grad_v)};
}

// Of the longest head that the table gives to a kernel, in whole tiles.
constexpr int longest_rows(Kernel kernel, int dim) { return round_up(static_cast<int>(longest(kernel, dim)), 16); }

// Calls run with a value of the 16-bit type.
template <typename Run>
cudaError_t with_type(StorageType type, Run run) {
  return type == StorageType::float16 ? run(__half{}) : run(__nv_bfloat16{});
}

// Calls run with the head dimension as a constant, one of those for which the table has rows.
template <typename Run>
cudaError_t with_dim(const KernelRow& row, Run run) {
  cudaError_t error = cudaErrorInvalidValue;
  const auto runs = [&]<std::size_t kIndex>(std::integral_constant<std::size_t, kIndex> /*row*/) {
    constexpr KernelRow kRow = kKernelTable[kIndex];
    if constexpr (kRow.keeps_whole_heads()) {
      if (row.compiled_dim() != kRow.compiled_dim()) return false;
      error = run(std::integral_constant<int, kRow.compiled_dim()>{});
      return true;
    }
    return false;
  };
  [&]<std::size_t... kIndices>(std::index_sequence<kIndices...>) {
    static_cast<void>((runs(std::integral_constant<std::size_t, kIndices>{}) || ...));
  }(std::make_index_sequence<kKernelTable.size()>{});
  return error;
}

}  // namespace quest::kernels::cuda::resident
