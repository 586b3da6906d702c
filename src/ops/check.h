#pragma once

// Every rule about the arguments of attention, in one place, for the operators and for the plain formula alike.
// A broken rule throws std::runtime_error that names the argument, what was expected and what was given.

#include <torch/headeronly/core/DeviceType.h>
#include <torch/headeronly/core/ScalarType.h>

#include <cstdint>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>

namespace quest::ops {

using torch::headeronly::DeviceType;
using torch::headeronly::ScalarType;

struct TensorInfo {
  std::span<const std::int64_t> sizes;
  ScalarType type = ScalarType::Float;
  DeviceType device = DeviceType::CPU;
  int device_index = -1;
};

struct AttentionArguments {
  TensorInfo q;
  TensorInfo k;
  std::optional<TensorInfo> v;  // absent where only the weights are asked for
  std::optional<TensorInfo> gain;
  std::optional<TensorInfo> mask;
  std::optional<TensorInfo> key_lengths;
  std::optional<TensorInfo> cu_seqlens_q;
  std::optional<TensorInfo> cu_seqlens_k;
  double scale = 1.0;
  bool is_causal = false;
  double dropout_p = 0.0;
  bool grouped_heads_allowed = true;
};

// Shapes, types, devices and option pairs; no element is read.
void check_attention(const AttentionArguments& arguments);

void check_dropout(double dropout_p);

// The gradient, output or log-sum-exp that a backward pass is given.
void check_like(const char* name, const TensorInfo& given, std::span<const std::int64_t> sizes, ScalarType type,
                const TensorInfo& q);

// The values of the lengths, once they are at hand as 64-bit integers.
void check_key_lengths(std::span<const std::int64_t> lengths, std::int64_t keys);
void check_cu_seqlens(const char* name, std::span<const std::int64_t> offsets, std::int64_t rows);

[[nodiscard]] std::string describe(std::span<const std::int64_t> sizes);
[[nodiscard]] std::string describe(ScalarType type);

template <typename... Parts>
[[noreturn, gnu::cold]] void fail(const Parts&... parts) {
  std::ostringstream message;
  message << "quest::attention: ";
  (message << ... << parts);
  throw std::runtime_error(message.str());
}

}  // namespace quest::ops
