#pragma once

// Reads an operator's arguments off torch's stack and puts its results back, in the order of the schema.

#include <torch/csrc/stable/library.h>

#include <cstddef>

#include "ops/problem.h"

namespace quest::ops {

class ArgumentReader {
 public:
  explicit ArgumentReader(StableIValue* stack) : stack_(stack) {}

  template <typename Value>
  Value take() {
    return torch::stable::detail::to<Value>(stack_[next_++]);
  }

  CommonArguments take_common() {
    return {.gain = take<OptionalTensor>(),
            .mask = take<OptionalTensor>(),
            .key_lengths = take<OptionalTensor>(),
            .cu_seqlens_q = take<OptionalTensor>(),
            .cu_seqlens_k = take<OptionalTensor>(),
            .normalize_q = take<bool>(),
            .normalize_k = take<bool>(),
            .scale = take<double>(),
            .causal = take<std::int64_t>(),
            .dropout_p = take<double>(),
            .dropout_seed = take<std::int64_t>()};
  }

 private:
  StableIValue* stack_;
  std::size_t next_ = 0;
};

template <typename... Tensors>
void put_results(StableIValue* stack, const Tensors&... results) {
  ((*stack++ = torch::stable::detail::from(results)), ...);
}

}  // namespace quest::ops
