#pragma once

// One call of attention with every option resolved to what the formula needs: no formulation, no default left.

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "quest/attention.h"

namespace quest {

enum class Causal : std::int64_t { none = 0, top_left = 1, lower_right = 2 };

struct AttentionSettings {
  bool normalize_q = false;
  bool normalize_k = false;
  double scale = 1.0;
  Causal causal = Causal::none;
  double dropout_p = 0.0;
  std::uint64_t dropout_seed = 0;
};

struct AttentionCall {
  at::Tensor q;
  at::Tensor k;
  at::Tensor v;
  at::Tensor gain;  // undefined, or [1 or H, 1 or D] in float32 (float64 for float64 inputs)
  at::Tensor mask;
  at::Tensor key_lengths;
  at::Tensor cu_seqlens_q;
  at::Tensor cu_seqlens_k;
  AttentionSettings settings;
};

// Throws c10::Error where an argument breaks a rule.
[[nodiscard]] AttentionCall resolve(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const AttentionOptions& options);

// Lengths as 64-bit integers in host memory, checked. Waits for the device where they are on one.
[[nodiscard]] at::Tensor checked_cu_seqlens(const char* name, const at::Tensor& offsets, std::int64_t rows);
void check_length_values(const at::Tensor& key_lengths, std::int64_t keys);

}  // namespace quest
