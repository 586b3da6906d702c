#pragma once

// Which implementation may serve a call: what keeps it from the fused kernels, and when a GPU's rows become float32.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace quest::ops {

enum class DeviceKind { cpu, cuda, meta, other };

enum class ElementType { float32, float64, bfloat16, float16 };

struct CallFacts {
  DeviceKind device = DeviceKind::cpu;
  bool has_cuda_operators = false;  // libquest_ops_cuda is loaded
  ElementType type = ElementType::float32;
  std::int64_t queries = 1;
  std::int64_t keys = 1;
  std::int64_t dim = 1;
  std::int64_t value_dim = 1;
  bool has_mask = false;
  bool has_key_lengths = false;
  bool is_packed = false;
  bool is_causal_to_last = false;  // the last query sees every key
  bool transform_is_active = false;
  bool has_forward_gradient = false;
};

// Something that the fused kernels cannot do.
struct Obstacle {
  std::string_view name;
  std::string text;
  bool (*stands_before)(const CallFacts& call) = nullptr;
};

// In the order in which they are looked for.
[[nodiscard]] std::span<const Obstacle> obstacles();

// Null where the fused kernels serve the call.
[[nodiscard]] const Obstacle* first_obstacle(const CallFacts& call);

// A call with 16-bit rows that is to be computed from rows of float32, its output then rounded.
[[nodiscard]] bool takes_float32(const CallFacts& call);

// Heads of a multiple of this dimension are not among them.
[[nodiscard]] std::int64_t dims_per_word();

}  // namespace quest::ops
