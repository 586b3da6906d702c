// Checks the arguments of an operator and allocates what it returns.

#include <array>

#include "ops/operators.h"

namespace quest::ops {
namespace {

Tensor new_like(const Tensor& tensor) { return new_tensor(sizes_of(tensor), tensor.scalar_type(), tensor); }

Tensor new_absent(const Tensor& like) {
  constexpr std::array<std::int64_t, 1> kNoElements = {0};
  return new_tensor(kNoElements, ScalarType::Float, like);
}

Tensor new_rows(std::int64_t heads, std::int64_t rows, const Tensor& q) {
  return new_tensor(std::array{sizes_of(q)[0], heads, rows}, ScalarType::Float, q);
}

void check_lse(const Tensor& lse, const TensorInfo& q, const CommonArguments& common) {
  const std::array two_parts = {std::int64_t{2}, q.sizes[0], q.sizes[1], q.sizes[2]};
  const bool has_two = has_additive_mask(common);
  check_like("lse", info_of(lse), has_two ? Sizes(two_parts) : q.sizes.first(3), ScalarType::Float, q);
}

void check_backward(const BackwardInputs& inputs, const CommonArguments& common) {
  check(inputs.q, inputs.k, &inputs.v, common);
  const TensorInfo q = info_of(inputs.q);
  const std::array out_sizes = {q.sizes[0], q.sizes[1], q.sizes[2], sizes_of(inputs.v)[3]};
  check_like("grad_out", info_of(inputs.grad_out), out_sizes, q.type, q);
  check_like("out", info_of(inputs.out), out_sizes, q.type, q);
  check_lse(inputs.lse, q, common);
  if (inputs.gain_grad && !common.gain) {
    fail("gain_grad needs a gain, got none");
  }
  if (inputs.mask_grad && !has_additive_mask(common)) {
    fail("mask_grad needs an additive mask, got ", common.mask ? "a bool mask" : "none");
  }
}

}  // namespace

ForwardResult new_forward_result(const Tensor& q, const Tensor& k, const Tensor& v, const CommonArguments& common) {
  check(q, k, &v, common);
  const Sizes sizes = sizes_of(q);
  const std::array two_parts = {std::int64_t{2}, sizes[0], sizes[1], sizes[2]};
  return {
      .out = new_in_order_of(q, std::array{sizes[0], sizes[1], sizes[2], sizes_of(v)[3]}),
      .lse = has_additive_mask(common) ? new_tensor(two_parts, ScalarType::Float, q) : new_rows(sizes[1], sizes[2], q)};
}

BackwardResult new_backward_result(const BackwardInputs& inputs, const CommonArguments& common) {
  check_backward(inputs, common);
  return {.grad_q = new_in_order_of(inputs.q, sizes_of(inputs.q)),
          .grad_k = new_in_order_of(inputs.k, sizes_of(inputs.k)),
          .grad_v = new_in_order_of(inputs.v, sizes_of(inputs.v)),
          .grad_gain = inputs.gain_grad && common.gain ? new_like(*common.gain) : new_absent(inputs.q),
          .grad_mask = inputs.mask_grad && common.mask ? new_like(*common.mask) : new_absent(inputs.q)};
}

StatisticsResult new_statistics_result(const Tensor& q, const Tensor& k, const Tensor& lse,
                                       const CommonArguments& common) {
  check(q, k, nullptr, common);
  const TensorInfo query = info_of(q);
  const std::int64_t heads = query.sizes[1];
  const std::int64_t queries = query.sizes[2];
  const std::int64_t keys = sizes_of(k)[2];
  check_lse(lse, query, common);
  return {.max_logit = new_rows(heads, queries, q),
          .entropy = new_rows(heads, queries, q),
          .q_norm = new_rows(heads, queries, q),
          .k_norm = new_rows(sizes_of(k)[1], keys, q),
          .key_mass = new_rows(heads, keys, q)};
}

Tensor new_dropout_factors(const Tensor& q, std::int64_t keys, double dropout_p, std::int64_t /*seed*/) {
  const Sizes sizes = sizes_of(q);
  if (sizes.size() != 4) {
    fail("q must have 4 dimensions [batch, heads, queries, dim], got shape ", describe(sizes));
  }
  if (keys < 0) {
    fail("keys must not be negative, got ", keys);
  }
  check_dropout(dropout_p);
  return new_tensor(std::array{sizes[0], sizes[1], sizes[2], keys}, ScalarType::Float, q);
}

}  // namespace quest::ops
