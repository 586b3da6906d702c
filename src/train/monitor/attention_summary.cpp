#include "train/monitor/attention_summary.h"

#include <torch/torch.h>

#include <limits>
#include <utility>

namespace quest::train {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
constexpr auto kQuantileCount = static_cast<std::int64_t>(kNormQuantiles.size());

// Per head, the batch entry and the query of the largest logit, and the key behind it.
struct Pairs {
  at::Tensor head;
  at::Tensor key_head;
  at::Tensor batch;
  at::Tensor query;
  at::Tensor key;
};

// The key behind the largest logit of a row is the one whose logit, computed again, is nearest to that number. Hidden
// keys need no thought: their logits are others.
at::Tensor key_of_largest(const nn::AttentionProbe& probe, const Pairs& at, const at::Tensor& largest) {
  const auto& options = probe.options;
  const Formulation& formulation = options.formulation;
  at::Tensor q = probe.q.index({at.batch, at.head, at.query}).to(at::kFloat);
  q = q * options.scale.value_or(formulation.default_scale(probe.q.size(3)));
  if (options.gain.defined()) q = q * options.gain.detach().to(at::kFloat);
  if (formulation.normalize_q) q = q / probe.stats.q_norm.index({at.batch, at.head, at.query}).unsqueeze(-1);
  // Not a matrix product: autocast would round that.
  at::Tensor logits = (probe.k.index({at.batch, at.key_head}).to(at::kFloat) * q.unsqueeze(1)).sum(-1);
  if (formulation.normalize_k) {
    const at::Tensor norms = probe.stats.k_norm.index({at.batch, at.key_head});
    logits = logits / norms.masked_fill(norms == 0, 1.0);
  }
  if (options.mask.defined() && options.mask.scalar_type() != at::kBool) {
    const at::Tensor mask = options.mask.expand({probe.q.size(0), probe.q.size(1), probe.q.size(2), probe.k.size(2)});
    logits = logits + mask.index({at.batch, at.head, at.query});
  }
  return (logits - largest.unsqueeze(-1)).abs().argmin(-1);
}

Pairs pairs_of_largest(const nn::AttentionProbe& probe) {
  const at::Tensor& max_logit = probe.stats.max_logit;
  const std::int64_t queries = max_logit.size(2);
  const at::Tensor flat = max_logit.transpose(0, 1).flatten(1).argmax(1);
  Pairs pairs;
  pairs.head = at::arange(probe.q.size(1), flat.options());
  pairs.key_head = pairs.head.floor_divide(probe.q.size(1) / probe.k.size(1));
  pairs.batch = flat.floor_divide(queries);
  pairs.query = flat.remainder(queries);
  pairs.key = key_of_largest(probe, pairs, max_logit.index({pairs.batch, pairs.head, pairs.query}));
  return pairs;
}

// [B, H, N] -> [H, quantiles], by the nearest rank below. Tokens without a norm are padding.
at::Tensor norm_quantiles(const at::Tensor& norms) {
  at::Tensor tokens = norms.transpose(0, 1).flatten(1);
  const std::int64_t stride = (tokens.size(1) + kQuantileTokens - 1) / kQuantileTokens;
  tokens = std::get<0>(tokens.slice(1, 0, tokens.size(1), stride).sort(1));
  const at::Tensor padding = (tokens == 0).sum(1, /*keepdim=*/true);
  const at::Tensor parts = at::tensor(at::ArrayRef<double>(kNormQuantiles), tokens.options());
  const at::Tensor last = tokens.size(1) - 1 - padding;
  return tokens.gather(1, (padding + (last * parts).to(at::kLong)).clamp_max(tokens.size(1) - 1));
}

// The largest share of a sequence's attention that one key receives, [H]: the mean over the sequences that have keys.
at::Tensor sink_scores(const nn::AttentionProbe& probe, const at::Tensor& seeing) {
  const at::Tensor& key_mass = probe.stats.key_mass;
  if (!probe.options.cu_seqlens_q.defined()) return (key_mass.amax(-1) / seeing.sum(-1).clamp_min(1)).mean(0);
  const auto by_sequence = [](const at::Tensor& values, const at::Tensor& offsets, const char* how) {
    const at::Tensor bounds = offsets.to(values.device(), at::kLong);
    const at::Tensor numbers = at::arange(values.size(1), bounds.options());
    const at::Tensor sequence = at::searchsorted(bounds, numbers, /*out_int32=*/false, /*right=*/true) - 1;
    return at::zeros({values.size(0), bounds.size(0) - 1}, values.options())
        .scatter_reduce(1, sequence.expand_as(values), values, how, /*include_self=*/true);
  };
  const at::Tensor largest = by_sequence(key_mass.squeeze(0), probe.options.cu_seqlens_k, "amax");
  const at::Tensor queries =
      by_sequence(seeing.squeeze(0).to(largest.scalar_type()), probe.options.cu_seqlens_q, "sum");
  const at::Tensor has_queries = queries > 0;
  return (largest / queries.clamp_min(1)).sum(1) / has_queries.sum(1).clamp_min(1);
}

}  // namespace

at::Tensor summarize(const nn::AttentionProbe& probe) {
  const at::NoGradGuard no_grad;
  const auto& stats = probe.stats;
  const Pairs at = pairs_of_largest(probe);
  const at::Tensor seeing = stats.max_logit > kMinusInfinity;  // [B, H, N], queries that see a key
  const at::Tensor figures = at::stack(
      {
          stats.max_logit.index({at.batch, at.head, at.query}),
          stats.q_norm.index({at.batch, at.head, at.query}),
          stats.k_norm.index({at.batch, at.key_head, at.key}),
          stats.entropy.sum(at::IntArrayRef{0, 2}) / seeing.sum(at::IntArrayRef{0, 2}).clamp_min(1),
          sink_scores(probe, seeing),
      },
      1);
  const at::Tensor key_norms = norm_quantiles(stats.k_norm).index_select(0, at.key_head);
  return at::cat({figures, norm_quantiles(stats.q_norm), key_norms}, 1).to(at::kFloat);
}

LayerRecord layer_record(const at::Tensor& summary, std::int64_t step, std::string layer) {
  LayerRecord record{.step = step, .layer = std::move(layer)};
  const auto rows = summary.accessor<float, 2>();
  for (std::int64_t head = 0; head < summary.size(0); ++head) {
    std::int64_t column = 0;
    for (const auto& [name, figure] : kHeadFigures) (record.*figure).push_back(rows[head][column++]);
    for (auto* quantiles : {&record.query_norms, &record.key_norms}) {
      auto& of_head = quantiles->emplace_back();
      for (double& value : of_head) value = rows[head][column++];
    }
  }
  return record;
}

}  // namespace quest::train
