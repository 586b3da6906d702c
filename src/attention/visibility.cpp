#include "attention/visibility.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ne.h>
#include <ATen/ops/where.h>

#include <limits>

#include "attention/choice.h"

namespace quest {
namespace {

at::Tensor both(const at::Tensor& a, const at::Tensor& b) { return a.defined() ? a.logical_and(b) : b; }

at::Tensor positions(std::int64_t count, const at::Tensor& like) {
  return at::arange(count, like.options().dtype(at::kLong).requires_grad(false));
}

at::Tensor key_counts(const AttentionCall& call) {
  return call.key_lengths.to(call.q.device(), at::kLong).view({-1, 1, 1, 1});
}

// Values may be looked at: no functorch transform hides them and the tensor has some.
bool all_finite(const at::Tensor& tensor) {
  if (transform_is_active() || tensor.is_meta()) {
    return true;
  }
  return at::isfinite(tensor.detach()).all().item<bool>();
}

at::Tensor finite_part(const at::Tensor& x) { return at::where(at::isfinite(x), x, 0.0); }

at::Tensor finite_rows(const at::Tensor& x) { return at::isfinite(x).all(-1, /*keepdim=*/true); }

}  // namespace

at::Tensor existing_keys(const AttentionCall& call) {
  return call.key_lengths.defined() ? positions(call.k.size(2), call.q) < key_counts(call) : at::Tensor();
}

Visibility visibility_of(const AttentionCall& call) {
  const std::int64_t queries = call.q.size(2);
  const std::int64_t keys = call.k.size(2);
  const bool has_lengths = call.key_lengths.defined();
  if (has_lengths && !transform_is_active() && !call.key_lengths.is_meta()) {
    check_length_values(call.key_lengths, keys);
  }
  Visibility seen{.pairs = existing_keys(call)};
  if (call.settings.causal != Causal::none) {
    at::Tensor last = positions(queries, call.q).unsqueeze(-1);
    if (call.settings.causal == Causal::lower_right) {
      last = has_lengths ? last + key_counts(call) - queries : last + (keys - queries);
    }
    seen.pairs = both(seen.pairs, positions(keys, call.q) <= last);
  }
  if (call.mask.defined()) {
    const bool boolean = call.mask.scalar_type() == at::kBool;
    seen.pairs =
        both(seen.pairs, boolean ? call.mask : at::ne(call.mask.detach(), -std::numeric_limits<double>::infinity()));
  }
  // At least a matrix, so that rows and columns have their own dimensions below.
  while (seen.pairs.defined() && seen.pairs.dim() < 2) {
    seen.pairs = seen.pairs.unsqueeze(0);
  }
  return seen;
}

at::Tensor Visibility::keep_pairs(const at::Tensor& matrix) const {
  return everything() ? matrix : at::where(pairs, matrix, 0.0);
}

at::Tensor Visibility::keep_queries(const at::Tensor& rows) const {
  return everything() ? rows : at::where(pairs.any(-1, /*keepdim=*/true), rows, 0.0);
}

at::Tensor Visibility::keep_keys(const at::Tensor& rows) const {
  return everything() ? rows : at::where(pairs.any(-2, /*keepdim=*/true).transpose(-1, -2), rows, 0.0);
}

// Multiplying by a weight of 0 does not forget a NaN, forward or backward. So the finite numbers are multiplied as
// ever, and what the others contribute is added apart, to the pairs that see them.
at::Tensor seen_products(const at::Tensor& a, const at::Tensor& b, const Visibility& visibility) {
  if (visibility.everything() || (all_finite(a) && all_finite(b))) {
    return at::matmul(a, b.transpose(-1, -2));
  }
  const at::Tensor products = at::matmul(finite_part(a), finite_part(b).transpose(-1, -2));
  const at::Tensor exact = at::matmul(a.detach(), b.detach().transpose(-1, -2));
  const at::Tensor finite = finite_rows(a).logical_and(finite_rows(b).transpose(-1, -2));
  // A constant is enough: the softmax of such a row is NaN, and so are all its derivatives.
  return products + at::where(finite, 0.0, exact - products.detach());
}

at::Tensor seen_average(const at::Tensor& weights, const at::Tensor& v, const Visibility& visibility) {
  if (visibility.everything() || all_finite(v)) {
    return at::matmul(weights, v);
  }
  const at::Tensor keys = finite_rows(v.detach()).flatten(0, 1).all(0).squeeze(-1).logical_not().nonzero().squeeze(-1);
  const at::Tensor rest = (v - finite_part(v)).index_select(-2, keys).unsqueeze(-3);
  const at::Tensor seen = visibility.pairs.expand(weights.sizes()).index_select(-1, keys).unsqueeze(-1);
  const at::Tensor rest_weights = weights.index_select(-1, keys).unsqueeze(-1);
  return at::matmul(weights, finite_part(v)) + (rest_weights * at::where(seen, rest, 0.0)).sum(-2);
}

}  // namespace quest
