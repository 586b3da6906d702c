#include "attention/call.h"

#include <ATen/CPUGeneratorImpl.h>

#include <mutex>
#include <optional>
#include <span>

#include "attention/errors.h"
#include "ops/check.h"

namespace quest {
namespace {

ops::TensorInfo info_of(const char* name, const at::Tensor& tensor) {
  if (!tensor.defined()) {
    ops::fail(name, " must be a tensor, got an undefined one");
  }
  return {.sizes = {tensor.sizes().data(), tensor.sizes().size()},
          .type = tensor.scalar_type(),
          .device = tensor.device().type(),
          .device_index = tensor.device().index()};
}

std::optional<ops::TensorInfo> optional_info_of(const char* name, const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(info_of(name, tensor)) : std::nullopt;
}

void check_arguments(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options,
                     double scale) {
  ops::check_attention({.q = info_of("q", q),
                        .k = info_of("k", k),
                        .v = info_of("v", v),
                        .gain = std::nullopt,
                        .mask = optional_info_of("mask", options.mask),
                        .key_lengths = optional_info_of("key_lengths", options.key_lengths),
                        .cu_seqlens_q = optional_info_of("cu_seqlens_q", options.cu_seqlens_q),
                        .cu_seqlens_k = optional_info_of("cu_seqlens_k", options.cu_seqlens_k),
                        .scale = scale,
                        .is_causal = options.is_causal,
                        .dropout_p = options.dropout_p,
                        .grouped_heads_allowed = options.enable_gqa});
}

struct GainShape {
  std::int64_t heads = 1;
  std::int64_t dim = 1;
};

[[noreturn]] void fail_gain_shape(const at::Tensor& gain, std::int64_t heads, std::int64_t dim) {
  ops::fail("gain must be a scalar or have shape [", heads, "] (heads), [", dim, "] (dim), [", heads, ", ", dim, "], [",
            heads, ", 1] or [1, ", dim, "], got ", ops::describe({gain.sizes().data(), gain.sizes().size()}));
}

GainShape vector_gain_shape(const at::Tensor& gain, std::int64_t heads, std::int64_t dim, const Formulation& f) {
  const std::int64_t size = gain.size(0);
  if (size == 1) {
    return {};
  }
  if (size != heads && size != dim) {
    fail_gain_shape(gain, heads, dim);
  }
  if (heads != dim) {
    return size == heads ? GainShape{.heads = heads} : GainShape{.dim = dim};
  }
  if (f.gain_axes == GainAxes::none) {
    ops::fail("gain of shape [", size, "] could belong to the heads or to the dimensions, both are ", size, "; give [",
              heads, ", 1] or [1, ", dim, "]");
  }
  return f.gain_axes == GainAxes::head ? GainShape{.heads = heads} : GainShape{.dim = dim};
}

GainShape gain_shape(const at::Tensor& gain, std::int64_t heads, std::int64_t dim, const Formulation& f) {
  switch (gain.dim()) {
    case 0:
      return {};
    case 1:
      return vector_gain_shape(gain, heads, dim, f);
    case 2:
      if ((gain.size(0) == 1 || gain.size(0) == heads) && (gain.size(1) == 1 || gain.size(1) == dim)) {
        return {gain.size(0), gain.size(1)};
      }
      [[fallthrough]];
    default:
      fail_gain_shape(gain, heads, dim);
  }
}

at::Tensor resolve_gain(const at::Tensor& gain, const at::Tensor& q, const Formulation& f) {
  const bool required = f.gain_axes != GainAxes::none;
  if (!gain.defined()) {
    if (required) {
      ops::fail("gain is required by the formulation '", f.name, "', got none; set AttentionOptions::gain");
    }
    return {};
  }
  if (!gain.is_floating_point()) {
    ops::fail("gain must hold floating-point numbers, got ", ops::describe(gain.scalar_type()));
  }
  if (gain.device() != q.device()) {
    ops::fail("gain must be on the device of q, ", q.device().str(), ", got ", gain.device().str());
  }
  const GainShape shape = gain_shape(gain, q.size(1), q.size(3), f);
  const auto type = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor matrix = gain.reshape({shape.heads, shape.dim}).to(type);
  const bool estimated = required && !f.gain_is_learned;
  return estimated ? matrix.detach() : matrix;
}

Causal causal_kind(const AttentionOptions& options) {
  if (!options.is_causal) {
    return Causal::none;
  }
  return options.causal_alignment == CausalAlignment::top_left ? Causal::top_left : Causal::lower_right;
}

std::uint64_t draw_seed() {
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const std::scoped_lock lock(generator.mutex());
  return at::check_generator<at::CPUGeneratorImpl>(generator)->random64();
}

std::span<const std::int64_t> values(const at::Tensor& host_lengths) {
  return {host_lengths.const_data_ptr<std::int64_t>(), static_cast<std::size_t>(host_lengths.numel())};
}

at::Tensor on_host(const at::Tensor& lengths) { return lengths.to(at::kCPU, at::kLong).contiguous(); }

}  // namespace

AttentionCall resolve(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const AttentionOptions& options) {
  return with_torch_errors([&] {
    const Formulation& formulation = options.formulation;
    const double scale = options.scale.value_or(1.0);
    check_arguments(q, k, v, options, scale);
    const bool drops = options.dropout_p > 0.0;
    return AttentionCall{
        .q = q,
        .k = k,
        .v = v,
        .gain = resolve_gain(options.gain, q, formulation),
        .mask = options.mask,
        .key_lengths = options.key_lengths,
        .cu_seqlens_q = options.cu_seqlens_q,
        .cu_seqlens_k = options.cu_seqlens_k,
        .settings = {.normalize_q = formulation.normalize_q,
                     .normalize_k = formulation.normalize_k,
                     .scale = options.scale ? scale : formulation.default_scale(q.size(3)),
                     .causal = causal_kind(options),
                     .dropout_p = options.dropout_p,
                     .dropout_seed = drops && !options.dropout_seed ? draw_seed() : options.dropout_seed.value_or(0)}};
  });
}

at::Tensor checked_cu_seqlens(const char* name, const at::Tensor& offsets, std::int64_t rows) {
  at::Tensor host = on_host(offsets);
  with_torch_errors([&] { ops::check_cu_seqlens(name, values(host), rows); });
  return host;
}

void check_length_values(const at::Tensor& key_lengths, std::int64_t keys) {
  const at::Tensor host = on_host(key_lengths);
  with_torch_errors([&] { ops::check_key_lengths(values(host), keys); });
}

}  // namespace quest
