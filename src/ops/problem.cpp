#include "ops/problem.h"

#include <torch/csrc/stable/ops.h>

#include <algorithm>
#include <array>

namespace quest::ops {
namespace {

constexpr std::size_t kRank = 4;

kernels::StorageType storage_type(ScalarType type) {
  switch (type) {
    case ScalarType::Float:
      return kernels::StorageType::float32;
    case ScalarType::BFloat16:
      return kernels::StorageType::bfloat16;
    case ScalarType::Half:
      return kernels::StorageType::float16;
    default:
      fail("the fused kernels take float32, bfloat16 or float16, got ", describe(type), "; use the reference path");
  }
}

kernels::MaskType mask_type(ScalarType type) {
  switch (type) {
    case ScalarType::Bool:
      return kernels::MaskType::boolean;
    case ScalarType::Float:
      return kernels::MaskType::additive_float32;
    case ScalarType::BFloat16:
      return kernels::MaskType::additive_bfloat16;
    case ScalarType::Half:
      return kernels::MaskType::additive_float16;
    default:
      fail("mask must be bool, float32, bfloat16 or float16 for the fused kernels, got ", describe(type));
  }
}

kernels::Causal causal_kind(std::int64_t causal) {
  switch (causal) {
    case 0:
      return kernels::Causal::none;
    case 1:
      return kernels::Causal::top_left;
    case 2:
      return kernels::Causal::lower_right;
    default:
      fail("causal must be 0 (none), 1 (top-left) or 2 (lower-right), got ", causal);
  }
}

std::array<std::int64_t, kRank> mask_strides(const Tensor& mask) {
  const Sizes sizes = sizes_of(mask);
  const Sizes strides = strides_of(mask);
  std::array<std::int64_t, kRank> result{};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    result[kRank - sizes.size() + i] = sizes[i] == 1 ? 0 : strides[i];
  }
  return result;
}

// A copy of the mask with one element per key, whatever it was broadcast or strided from.
Tensor dense_mask(const Tensor& mask, const std::array<std::int64_t, kRank>& shape) {
  Tensor copy = new_tensor(shape, mask.scalar_type(), mask);
  return torch::stable::copy_(copy, mask);
}

Tensor dense_int64(const Tensor& integers) {
  const bool wide = integers.scalar_type() == ScalarType::Long;
  const Tensor converted = wide ? integers : torch::stable::to(integers, ScalarType::Long);
  return converted.is_contiguous() ? converted : torch::stable::contiguous(converted);
}

std::span<const std::int64_t> values(const Tensor& dense) {
  return {static_cast<const std::int64_t*>(dense.const_data_ptr()), static_cast<std::size_t>(dense.numel())};
}

std::int64_t longest_sequence(std::span<const std::int64_t> offsets) {
  std::int64_t longest = 0;
  for (std::size_t i = 1; i < offsets.size(); ++i) {
    longest = std::max(longest, offsets[i] - offsets[i - 1]);
  }
  return longest;
}

}  // namespace

std::array<std::int64_t, kRank> mask_shape(const Tensor& mask) {
  const Sizes sizes = sizes_of(mask);
  std::array<std::int64_t, kRank> shape = {1, 1, 1, 1};
  std::copy(sizes.begin(), sizes.end(), shape.begin() + static_cast<std::ptrdiff_t>(kRank - sizes.size()));
  return shape;
}

void check(const Tensor& q, const Tensor& k, const Tensor* v, const CommonArguments& common) {
  check_attention({.q = info_of(q),
                   .k = info_of(k),
                   .v = v != nullptr ? std::optional(info_of(*v)) : std::nullopt,
                   .gain = info_of(common.gain),
                   .mask = info_of(common.mask),
                   .key_lengths = info_of(common.key_lengths),
                   .cu_seqlens_q = info_of(common.cu_seqlens_q),
                   .cu_seqlens_k = info_of(common.cu_seqlens_k),
                   .scale = common.scale,
                   .is_causal = causal_kind(common.causal) != kernels::Causal::none,
                   .dropout_p = common.dropout_p});
}

kernels::Input view_input(const Tensor& dense_rows) {
  const Sizes strides = strides_of(dense_rows);
  return {dense_rows.const_data_ptr(), strides[0], strides[1], strides[2]};
}

kernels::Output view_output(const Tensor& contiguous) {
  const Sizes strides = strides_of(contiguous);
  return {contiguous.mutable_data_ptr(), strides[0], strides[1], strides[2]};
}

PreparedProblem::PreparedProblem(const Tensor& q, const Tensor& k, const Tensor* v, const CommonArguments& common) {
  check(q, k, v, common);
  const Sizes q_sizes = sizes_of(q);
  const Sizes k_sizes = sizes_of(k);
  problem_.type = storage_type(q.scalar_type());
  problem_.batch = q_sizes[0];
  problem_.heads = q_sizes[1];
  problem_.queries = q_sizes[2];
  problem_.dim = q_sizes[3];
  problem_.kv_heads = k_sizes[1];
  problem_.keys = k_sizes[2];
  problem_.longest_queries = problem_.queries;
  problem_.longest_keys = problem_.keys;
  problem_.q = view_rows(q);
  problem_.k = view_rows(k);
  if (v != nullptr) {
    problem_.value_dim = sizes_of(*v)[3];
    problem_.v = view_rows(*v);
  }
  problem_.normalize_q = common.normalize_q;
  problem_.normalize_k = common.normalize_k;
  problem_.scale = static_cast<float>(common.scale);
  problem_.causal = causal_kind(common.causal);
  problem_.dropout_p = static_cast<float>(common.dropout_p);
  problem_.dropout_seed = static_cast<std::uint64_t>(common.dropout_seed);
  if (common.gain) {
    set_gain(*common.gain);
  }
  if (common.mask) {
    set_mask(*common.mask);
  }
  set_lengths(q, common);
}

kernels::Input PreparedProblem::view_rows(const Tensor& tensor) {
  kept_.push_back(with_dense_rows(tensor));
  return view_input(kept_.back());
}

void PreparedProblem::set_gain(const Tensor& gain) {
  if (gain.scalar_type() != ScalarType::Float) {
    fail("gain must be float32 for the fused kernels, got ", describe(gain.scalar_type()));
  }
  const Sizes sizes = sizes_of(gain);
  const Sizes strides = strides_of(gain);
  problem_.gain = static_cast<const float*>(gain.const_data_ptr());
  problem_.gain_head_stride = sizes[0] == 1 ? 0 : strides[0];
  problem_.gain_dim_stride = sizes[1] == 1 ? 0 : strides[1];
}

void PreparedProblem::set_mask(const Tensor& mask) {
  auto strides = mask_strides(mask);
  auto shape = mask_shape(mask);
  problem_.mask.type = mask_type(mask.scalar_type());
  const bool dense_keys = shape[3] == problem_.keys && (strides[3] == 1 || problem_.keys <= 1);
  if (dense_keys) {
    problem_.mask.data = mask.const_data_ptr();
  } else {
    shape[3] = problem_.keys;
    kept_.push_back(dense_mask(mask, shape));
    strides = mask_strides(kept_.back());
    problem_.mask.data = kept_.back().const_data_ptr();
  }
  problem_.mask.batch_stride = strides[0];
  problem_.mask.head_stride = strides[1];
  problem_.mask.row_stride = strides[2];
}

const std::int64_t* PreparedProblem::keep_beside(const Tensor& q, const Tensor& lengths) {
  kept_.push_back(lengths.is_cpu() && !q.is_cpu() ? torch::stable::to(lengths, q.device()) : lengths);
  return values(kept_.back()).data();
}

void PreparedProblem::set_lengths(const Tensor& q, const CommonArguments& common) {
  if (common.key_lengths) {
    const Tensor lengths = dense_int64(*common.key_lengths);
    if (lengths.is_cpu()) {
      check_key_lengths(values(lengths), problem_.keys);
    }
    problem_.key_lengths = keep_beside(q, lengths);
  }
  if (common.cu_seqlens_q && common.cu_seqlens_k) {
    const Tensor offsets_q = dense_int64(*common.cu_seqlens_q);
    const Tensor offsets_k = dense_int64(*common.cu_seqlens_k);
    if (offsets_q.is_cpu()) {
      check_cu_seqlens("cu_seqlens_q", values(offsets_q), problem_.queries);
      problem_.longest_queries = longest_sequence(values(offsets_q));
    }
    if (offsets_k.is_cpu()) {
      check_cu_seqlens("cu_seqlens_k", values(offsets_k), problem_.keys);
      problem_.longest_keys = longest_sequence(values(offsets_k));
    }
    problem_.batch = offsets_q.numel() - 1;
    problem_.cu_seqlens_q = keep_beside(q, offsets_q);
    problem_.cu_seqlens_k = keep_beside(q, offsets_k);
  }
}

double PreparedProblem::flops() const {
  double pairs = static_cast<double>(problem_.batch * problem_.queries) * static_cast<double>(problem_.keys);
  if (problem_.cu_seqlens_q != nullptr) {
    pairs /= static_cast<double>(std::max<std::int64_t>(problem_.batch * problem_.batch, 1));
  }
  return 2.0 * pairs * static_cast<double>(problem_.heads * (problem_.dim + problem_.value_dim));
}

bool PreparedProblem::is_empty() const { return problem_.batch == 0 || problem_.queries == 0 || problem_.keys == 0; }

}  // namespace quest::ops
