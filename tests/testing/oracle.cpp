#include "tests/testing/oracle.h"

#include <torch/torch.h>

#include "kernels/cpu/attention.h"

namespace quest::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// One packed sequence or one batch entry.
struct Span {
  std::int64_t batch, q_begin, q_end, k_begin, k_end, keys_existing;
};

std::vector<Span> spans(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  std::vector<Span> result;
  if (options.cu_seqlens_q.defined()) {
    const at::Tensor at_q = options.cu_seqlens_q.to(at::kLong);
    const at::Tensor at_k = options.cu_seqlens_k.to(at::kLong);
    for (std::int64_t s = 0; s + 1 < at_q.size(0); ++s) {
      const auto k_begin = at_k[s].item<std::int64_t>();
      const auto k_end = at_k[s + 1].item<std::int64_t>();
      result.push_back(
          {0, at_q[s].item<std::int64_t>(), at_q[s + 1].item<std::int64_t>(), k_begin, k_end, k_end - k_begin});
    }
    return result;
  }
  for (std::int64_t b = 0; b < q.size(0); ++b) {
    const std::int64_t existing =
        options.key_lengths.defined() ? options.key_lengths[b].item<std::int64_t>() : k.size(2);
    result.push_back({b, 0, q.size(2), 0, k.size(2), existing});
  }
  return result;
}

bool sees(const Span& span, std::int64_t i, std::int64_t j, const AttentionOptions& options) {
  const std::int64_t shift =
      options.causal_alignment == CausalAlignment::lower_right ? span.keys_existing - (span.q_end - span.q_begin) : 0;
  return j < span.keys_existing && (!options.is_causal || j <= i + shift);
}

at::Tensor unit_rows(const at::Tensor& x) {
  const at::Tensor squared = (x * x).sum(-1, true);
  const at::Tensor zero = squared == 0;
  return at::where(zero, at::zeros_like(x), x / at::where(zero, at::ones_like(squared), squared).sqrt());
}

// [1 or H, 1 or D]
at::Tensor gain_matrix(const AttentionOptions& options, std::int64_t heads, std::int64_t dim) {
  const at::Tensor& gain = options.gain;
  if (!gain.defined()) {
    return {};
  }
  const bool estimated = options.formulation.gain_axes != GainAxes::none && !options.formulation.gain_is_learned;
  const at::Tensor used = estimated ? gain.detach() : gain;
  if (used.dim() == 0) {
    return used.reshape({1, 1});
  }
  if (used.dim() == 2) {
    return used;
  }
  const bool per_head = used.size(0) == heads && (heads != dim || options.formulation.gain_axes == GainAxes::head);
  return per_head ? used.unsqueeze(1) : used.unsqueeze(0);
}

double scale_of(const at::Tensor& q, const AttentionOptions& options) {
  return options.scale.value_or(options.formulation.divide_by_sqrt_dim ? 1.0 / std::sqrt(q.size(3)) : 1.0);
}

at::Tensor oracle_logits(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  const Formulation& formulation = options.formulation;
  const double scale = scale_of(q, options);
  at::Tensor queries = formulation.normalize_q ? unit_rows(q) : q;
  const at::Tensor keys = formulation.normalize_k ? unit_rows(k) : k;
  const at::Tensor gain = gain_matrix(options, q.size(1), q.size(3));
  if (gain.defined()) {
    queries = queries * gain.unsqueeze(-2);
  }
  at::Tensor logits = scale * at::matmul(queries, keys.repeat_interleave(q.size(1) / k.size(1), 1).transpose(-1, -2));
  if (options.mask.defined() && options.mask.scalar_type() != at::kBool) {
    logits = logits + options.mask.masked_fill(options.mask == -kInfinity, 0.0);
  }
  return logits;
}

at::Tensor dropout_factors(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  at::Tensor factors = at::ones({q.size(0), q.size(1), q.size(2), k.size(2)}, at::kFloat);
  const std::vector<Span> sequences = spans(q, k, options);
  for (std::size_t s = 0; s < sequences.size(); ++s) {
    const Span& span = sequences[s];
    for (std::int64_t h = 0; h < q.size(1); ++h) {
      at::Tensor block = at::empty({span.q_end - span.q_begin, span.k_end - span.k_begin}, at::kFloat);
      kernels::cpu::dropout_factors(static_cast<float>(options.dropout_p), options.dropout_seed.value(),
                                    static_cast<std::int64_t>(s), h, block.size(0), block.size(1),
                                    block.mutable_data_ptr<float>());
      factors[span.batch][h].slice(0, span.q_begin, span.q_end).slice(1, span.k_begin, span.k_end).copy_(block);
    }
  }
  return factors.to(q.scalar_type());
}

// The magnitudes behind dx = (dx̄ − x̄ (x̄·dx̄)) / ‖x‖.
at::Tensor row_gradient_terms(const at::Tensor& x, const at::Tensor& unit_terms, bool normalized) {
  if (!normalized) {
    return unit_terms;
  }
  const at::Tensor unit = unit_rows(x).abs();
  const at::Tensor norm = x.square().sum(-1, true).sqrt();
  const at::Tensor terms = (unit_terms + unit * (unit * unit_terms).sum(-1, true)) / norm;
  return terms.masked_fill(norm == 0, 0.0);
}

// Sums the query heads that share a key head.
at::Tensor over_groups(const at::Tensor& x, std::int64_t kv_heads) {
  return x.reshape({x.size(0), kv_heads, x.size(1) / kv_heads, x.size(2), x.size(3)}).sum(2);
}

double largest(const at::Tensor& x) { return x.numel() == 0 ? 0.0 : x.max().item<double>(); }

struct Softmax {
  at::Tensor weights, lse, max_logit, entropy;
};

Softmax visible_softmax(const at::Tensor& logits, const at::Tensor& visible) {
  const at::Tensor hidden = visible.logical_not();
  if (logits.size(3) == 0) {
    const at::Tensor none = at::full({logits.size(0), logits.size(1), logits.size(2)}, -kInfinity, logits.options());
    return {at::zeros_like(logits), none, none, at::zeros_like(none)};
  }
  const at::Tensor max_logit = logits.detach().masked_fill(hidden, -kInfinity).amax(-1);
  const at::Tensor shift = max_logit.masked_fill(max_logit == -kInfinity, 0.0).unsqueeze(-1);
  const at::Tensor shifted = (logits - shift).masked_fill(hidden, 0.0);
  const at::Tensor exponentials = shifted.exp().masked_fill(hidden, 0.0);
  const at::Tensor sum = exponentials.sum(-1, true);
  const at::Tensor weights = exponentials / sum.masked_fill(sum == 0, 1.0);
  const at::Tensor lse = (sum.log() + shift).squeeze(-1);
  const at::Tensor log_weights = (shifted - sum.log()).masked_fill(hidden, 0.0);
  return {weights, lse, max_logit, -(weights * log_weights).sum(-1)};
}

}  // namespace

at::Tensor oracle_visibility(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  at::Tensor visible = at::zeros({q.size(0), q.size(1), q.size(2), k.size(2)}, at::kBool);
  for (const Span& span : spans(q, k, options)) {
    at::Tensor block = at::zeros({span.q_end - span.q_begin, span.k_end - span.k_begin}, at::kBool);
    auto cell = block.accessor<bool, 2>();
    for (std::int64_t i = 0; i < block.size(0); ++i) {
      for (std::int64_t j = 0; j < block.size(1); ++j) {
        cell[i][j] = sees(span, i, j, options);
      }
    }
    visible[span.batch].slice(1, span.q_begin, span.q_end).slice(2, span.k_begin, span.k_end).copy_(block);
  }
  if (options.mask.defined()) {
    const at::Tensor mask = options.mask.detach();
    visible = visible.logical_and(mask.scalar_type() == at::kBool ? mask : mask != -kInfinity);
  }
  return visible;
}

at::Tensor oracle_weights(const at::Tensor& q, const at::Tensor& k, const AttentionOptions& options) {
  return visible_softmax(oracle_logits(q, k, options), oracle_visibility(q, k, options)).weights;
}

AttentionResult oracle_attention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 const AttentionOptions& options) {
  const Softmax softmax = visible_softmax(oracle_logits(q, k, options), oracle_visibility(q, k, options));
  const at::Tensor weights =
      options.dropout_p > 0.0 ? softmax.weights * dropout_factors(q, k, options) : softmax.weights;
  const at::Tensor output = at::matmul(weights, v.repeat_interleave(q.size(1) / v.size(1), 1));
  const auto norm = [](const at::Tensor& x) { return x.detach().square().sum(-1).sqrt(); };
  at::Tensor k_norm = norm(k);
  if (options.key_lengths.defined()) {
    k_norm.masked_fill_(at::arange(k.size(2)) >= options.key_lengths.reshape({-1, 1, 1}), 0.0);
  }
  return {output, AttentionStats{.lse = softmax.lse.detach(),
                                 .max_logit = softmax.max_logit,
                                 .entropy = softmax.entropy.detach(),
                                 .q_norm = norm(q),
                                 .k_norm = k_norm,
                                 .key_mass = softmax.weights.detach().sum(2)}};
}

GradientTerms gradient_terms(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v, const at::Tensor& grad_out,
                             const AttentionOptions& options, TermSource source) {
  const at::NoGradGuard no_grad;
  const std::int64_t group = q.size(1) / k.size(1);
  const auto to_query_heads = [group](const at::Tensor& x) { return x.repeat_interleave(group, 1).abs(); };
  const Formulation& formulation = options.formulation;
  const at::Tensor queries = (formulation.normalize_q ? unit_rows(q) : q).abs();
  const at::Tensor keys = to_query_heads(formulation.normalize_k ? unit_rows(k) : k);
  const at::Tensor gain = gain_matrix(options, q.size(1), q.size(3));
  const double scale = std::abs(scale_of(q, options));
  const at::Tensor factor =
      gain.defined() ? (scale * gain.abs()).unsqueeze(-2) : at::full({1, 1, 1}, scale, q.options());

  const at::Tensor weights = oracle_weights(q, k, options);
  const at::Tensor kept = options.dropout_p > 0.0 ? weights * dropout_factors(q, k, options) : weights;
  at::Tensor logit_terms;
  if (source == TermSource::output) {
    logit_terms = weights * (grad_out.abs() * oracle_attention(q, k, v, options).output.abs()).sum(-1, true);
  } else {
    const at::Tensor products = kept * at::matmul(grad_out.abs(), to_query_heads(v).transpose(-1, -2));
    logit_terms = products + weights * products.sum(-1, true);
  }
  const at::Tensor by_key = at::matmul(logit_terms, keys);
  const at::Tensor by_query = at::matmul(logit_terms.transpose(-1, -2), queries * factor);
  GradientTerms terms;
  terms.q = largest(row_gradient_terms(q, by_key * factor, formulation.normalize_q));
  terms.k = largest(row_gradient_terms(k, over_groups(by_query, k.size(1)), formulation.normalize_k));
  terms.v = source == TermSource::output
                ? 0.0
                : largest(over_groups(at::matmul(kept.transpose(-1, -2), grad_out.abs()), k.size(1)));
  if (gain.defined()) {
    terms.gain = largest(at::sum_to((scale * queries * by_key).sum({0, 2}), gain.sizes()));
  }
  if (options.mask.defined() && options.mask.is_floating_point()) {
    terms.mask = largest(at::sum_to(logit_terms, options.mask.sizes()));
  }
  return terms;
}

}  // namespace quest::testing
