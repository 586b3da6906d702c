#include "attention/reference.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/where.h>
#include <ATen/ops/xlogy.h>
#include <c10/core/GradMode.h>

#include <limits>
#include <vector>

#include "attention/normalize.h"
#include "attention/operators.h"
#include "attention/visibility.h"

namespace quest {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr std::int64_t kRows = 2;  // the dimension of queries and keys

at::ScalarType compute_type(const at::Tensor& tensor) {
  return tensor.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

// Each key head once per query head it serves.
at::Tensor repeat_heads(const at::Tensor& x, std::int64_t heads) {
  const std::int64_t key_heads = x.size(1);
  if (key_heads == heads) {
    return x;
  }
  return x.unsqueeze(2)
      .expand({x.size(0), key_heads, heads / key_heads, x.size(2), x.size(3)})
      .reshape({x.size(0), heads, x.size(2), x.size(3)});
}

// logit_ij = scale · Σ_d gain[h,d] · q'_i[d] · k'_j[d] + mask_ij, and -inf where query i may not see key j.
at::Tensor masked_logits(const AttentionCall& call, const Visibility& visibility) {
  const AttentionSettings& settings = call.settings;
  const auto type = compute_type(call.q);
  at::Tensor q = visibility.keep_queries(call.q.to(type));
  at::Tensor k = visibility.keep_keys(repeat_heads(call.k, call.q.size(1)).to(type));
  q = settings.normalize_q ? unit_rows(q) : q;
  k = settings.normalize_k ? unit_rows(k) : k;
  q = call.gain.defined() ? q * call.gain.unsqueeze(1) : q;
  at::Tensor logits = seen_products(q * settings.scale, k, visibility);
  if (call.mask.defined() && call.mask.scalar_type() != at::kBool) {
    logits = logits + call.mask.to(type);
  }
  return visibility.everything() ? logits : at::where(visibility.pairs, logits, kMinusInfinity);
}

// Rows that see nothing get weights 0; through softmax they go as rows of zeros, which keeps NaN out of every
// derivative.
at::Tensor weights_of(const at::Tensor& logits, const Visibility& visibility) {
  return visibility.keep_pairs(at::softmax(visibility.keep_queries(logits), -1));
}

at::Tensor dense_attention(const AttentionCall& call, const at::Tensor& dropout) {
  const Visibility visibility = visibility_of(call);
  const auto type = compute_type(call.q);
  at::Tensor weights = weights_of(masked_logits(call, visibility), visibility);
  if (dropout.defined()) {
    weights = weights * dropout.to(weights.options().requires_grad(false));
  }
  const at::Tensor v = visibility.keep_keys(repeat_heads(call.v, call.q.size(1)).to(type));
  return visibility.keep_queries(seen_average(weights, v, visibility)).to(call.q.scalar_type());
}

at::Tensor existing_key_norms(const AttentionCall& call) {
  const at::Tensor norms = row_norms(call.k.to(compute_type(call.k)));
  const at::Tensor exists = existing_keys(call);
  return exists.defined() ? at::where(exists.squeeze(2), norms, 0.0) : norms;
}

AttentionStats dense_statistics(const AttentionCall& call) {
  const Visibility visibility = visibility_of(call);
  const auto type = compute_type(call.q);
  const at::Tensor logits = masked_logits(call, visibility);
  const at::Tensor weights = weights_of(logits, visibility);
  const bool no_keys = call.k.size(kRows) == 0;
  return {.lse = at::logsumexp(logits, -1),
          .max_logit =
              no_keys ? at::full({call.q.size(0), call.q.size(1), call.q.size(kRows)}, kMinusInfinity, logits.options())
                      : logits.amax(-1),
          .entropy = -at::xlogy(weights, weights).sum(-1),
          .q_norm = row_norms(call.q.to(type)),
          .k_norm = existing_key_norms(call),
          .key_mass = weights.sum(-2)};
}

// One call per sequence of a packed batch.
std::vector<AttentionCall> split_packed(const AttentionCall& call) {
  const at::Tensor offsets_q = checked_cu_seqlens("cu_seqlens_q", call.cu_seqlens_q, call.q.size(kRows));
  const at::Tensor offsets_k = checked_cu_seqlens("cu_seqlens_k", call.cu_seqlens_k, call.k.size(kRows));
  const auto* q = offsets_q.const_data_ptr<std::int64_t>();
  const auto* k = offsets_k.const_data_ptr<std::int64_t>();
  std::vector<AttentionCall> sequences;
  for (std::int64_t s = 0; s + 1 < offsets_q.numel(); ++s) {
    AttentionCall sequence = call;
    sequence.q = call.q.narrow(kRows, q[s], q[s + 1] - q[s]);
    sequence.k = call.k.narrow(kRows, k[s], k[s + 1] - k[s]);
    sequence.v = call.v.defined() ? call.v.narrow(kRows, k[s], k[s + 1] - k[s]) : call.v;
    sequence.cu_seqlens_q.reset();
    sequence.cu_seqlens_k.reset();
    sequences.push_back(std::move(sequence));
  }
  return sequences;
}

at::Tensor draw_dropout(const AttentionCall& call, std::int64_t batch, std::int64_t queries, std::int64_t keys) {
  if (call.settings.dropout_p == 0.0) {
    return {};
  }
  return operators::dropout_factors({batch, call.q.size(1), queries, keys}, call.settings.dropout_p,
                                    call.settings.dropout_seed, call.q.device());
}

at::Tensor packed_attention(const AttentionCall& call) {
  const std::vector<AttentionCall> sequences = split_packed(call);
  std::int64_t most_queries = 0;
  std::int64_t most_keys = 0;
  for (const AttentionCall& sequence : sequences) {
    most_queries = std::max(most_queries, sequence.q.size(kRows));
    most_keys = std::max(most_keys, sequence.k.size(kRows));
  }
  const auto count = static_cast<std::int64_t>(sequences.size());
  const at::Tensor dropout = draw_dropout(call, count, most_queries, most_keys);
  std::vector<at::Tensor> outputs;
  for (std::int64_t s = 0; s < count; ++s) {
    const AttentionCall& sequence = sequences[static_cast<std::size_t>(s)];
    const at::Tensor own =
        dropout.defined()
            ? dropout.narrow(0, s, 1).narrow(-2, 0, sequence.q.size(kRows)).narrow(-1, 0, sequence.k.size(kRows))
            : dropout;
    outputs.push_back(dense_attention(sequence, own));
  }
  // Without a single sequence there are no rows either.
  return outputs.empty() ? dense_attention(call, {}) : at::cat(outputs, kRows);
}

AttentionStats join(const std::vector<AttentionStats>& sequences) {
  const auto rows_of = [&](at::Tensor AttentionStats::* field) {
    std::vector<at::Tensor> parts;
    parts.reserve(sequences.size());
    for (const AttentionStats& sequence : sequences) {
      parts.push_back(sequence.*field);
    }
    return at::cat(parts, kRows);
  };
  return {.lse = rows_of(&AttentionStats::lse),
          .max_logit = rows_of(&AttentionStats::max_logit),
          .entropy = rows_of(&AttentionStats::entropy),
          .q_norm = rows_of(&AttentionStats::q_norm),
          .k_norm = rows_of(&AttentionStats::k_norm),
          .key_mass = rows_of(&AttentionStats::key_mass)};
}

}  // namespace

at::Tensor reference_attention(const AttentionCall& call) {
  if (call.cu_seqlens_q.defined()) {
    return packed_attention(call);
  }
  return dense_attention(call, draw_dropout(call, call.q.size(0), call.q.size(kRows), call.k.size(kRows)));
}

AttentionStats reference_statistics(const AttentionCall& call) {
  const at::NoGradGuard no_gradients;
  if (!call.cu_seqlens_q.defined()) {
    return dense_statistics(call);
  }
  std::vector<AttentionStats> sequences;
  for (const AttentionCall& sequence : split_packed(call)) {
    sequences.push_back(dense_statistics(sequence));
  }
  return sequences.empty() ? dense_statistics(call) : join(sequences);
}

}  // namespace quest
