#pragma once

// Reads an operator's arguments off torch's stack and puts its results back, in the order of the schema.

#include <torch/csrc/stable/library.h>

#include <cstddef>

#include "ops/operators.h"

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

template <auto function>
void boxed_forward(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto k = reader.take<Tensor>();
  const auto v = reader.take<Tensor>();
  const CommonArguments common = reader.take_common();
  const ForwardResult result = function(q, k, v, common);
  put_results(stack, result.out, result.lse);
}

template <auto function>
void boxed_backward(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  BackwardInputs inputs{.grad_out = reader.take<Tensor>(),
                        .q = reader.take<Tensor>(),
                        .k = reader.take<Tensor>(),
                        .v = reader.take<Tensor>(),
                        .out = reader.take<Tensor>(),
                        .lse = reader.take<Tensor>()};
  const CommonArguments common = reader.take_common();
  inputs.gain_grad = reader.take<bool>();
  inputs.mask_grad = reader.take<bool>();
  const BackwardResult result = function(inputs, common);
  put_results(stack, result.grad_q, result.grad_k, result.grad_v, result.grad_gain, result.grad_mask);
}

template <auto function>
void boxed_statistics(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto k = reader.take<Tensor>();
  const auto lse = reader.take<Tensor>();
  const CommonArguments common = reader.take_common();
  const StatisticsResult result = function(q, k, lse, common);
  put_results(stack, result.max_logit, result.entropy, result.q_norm, result.k_norm, result.key_mass);
}

template <auto function>
void boxed_dropout_factors(StableIValue* stack, std::uint64_t /*arguments*/, std::uint64_t /*results*/) {
  ArgumentReader reader(stack);
  const auto q = reader.take<Tensor>();
  const auto keys = reader.take<std::int64_t>();
  const auto dropout_p = reader.take<double>();
  const auto seed = reader.take<std::int64_t>();
  put_results(stack, function(q, keys, dropout_p, seed));
}

}  // namespace quest::ops
