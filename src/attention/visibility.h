#pragma once

// Which query may see which key, and products that read only what is seen.

#include <ATen/core/Tensor.h>

#include "attention/call.h"

namespace quest {

struct Visibility {
  at::Tensor pairs;  // bool, broadcastable to [B, H, Nq, Nk]; undefined when everything is visible

  [[nodiscard]] bool everything() const { return !pairs.defined(); }
  // The argument with 0 wherever the pair, the query row or the key row is not seen at all.
  [[nodiscard]] at::Tensor keep_pairs(const at::Tensor& matrix) const;
  [[nodiscard]] at::Tensor keep_queries(const at::Tensor& rows) const;
  [[nodiscard]] at::Tensor keep_keys(const at::Tensor& rows) const;
};

[[nodiscard]] Visibility visibility_of(const AttentionCall& call);

// bool [B, 1, 1, Nk]: keys before the length of their batch entry. Undefined when the call has no lengths.
[[nodiscard]] at::Tensor existing_keys(const AttentionCall& call);

// a · bᵀ and weights · v where a NaN or an infinity reaches only the pairs that see it. The weights of unseen pairs
// must be 0.
[[nodiscard]] at::Tensor seen_products(const at::Tensor& a, const at::Tensor& b, const Visibility& visibility);
[[nodiscard]] at::Tensor seen_average(const at::Tensor& weights, const at::Tensor& v, const Visibility& visibility);

}  // namespace quest
