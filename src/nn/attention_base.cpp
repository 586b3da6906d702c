#include <torch/torch.h>

#include <cmath>
#include <utility>

#include "quest/nn/attention.h"
#include "quest/nn/segments.h"

namespace quest::nn {
namespace {

// The names, shapes and starts that the Python package gives the same gains.
constexpr double kFirstHeadGain = 10.0;
constexpr double kMostHeadGain = 100.0;

bool gain_is_estimated(const Formulation& formulation) {
  return formulation.gain_axes != GainAxes::none && !formulation.gain_is_learned;
}

// [B, 1, N, 1]: 1 for tokens before the length, 0 for padding.
at::Tensor existing_tokens(const at::Tensor& values, const at::Tensor& key_lengths) {
  const at::Tensor positions = at::arange(values.size(2), key_lengths.options());
  return (positions < key_lengths.unsqueeze(1)).to(values.scalar_type()).unsqueeze(1).unsqueeze(3);
}

at::Tensor share_of_farthest(const at::Tensor& mean) {
  const at::Tensor farthest = mean.amax(-1, /*keepdim=*/true);
  return at::where(farthest > 0, mean / farthest, 1.0);
}

// For tokens [1, H, N, D] of packed sequences: that of each token's sequence.
at::Tensor packed_gain(const at::Tensor& moved, const at::Tensor& cu_seqlens) {
  const Segments sequences = segments_from_offsets(cu_seqlens, moved.size(2));
  const at::Tensor mean = segment_mean(moved.squeeze(0).transpose(0, 1), sequences);
  return segment_rows(share_of_farthest(mean), sequences).transpose(0, 1).unsqueeze(0);
}

// The diagonal of the elliptical metric, [B, H, 1 or N, D]: how far the values of each dimension moved since the layer
// before, on average over the tokens, as a share of the farthest.
at::Tensor estimated_gain(const at::Tensor& values, const at::Tensor& before, const AttentionInputs& inputs) {
  const at::NoGradGuard no_gradients;
  at::Tensor moved = (values - before).abs_();
  if (inputs.cu_seqlens.defined()) {
    return packed_gain(moved, inputs.cu_seqlens);
  }
  if (inputs.key_lengths.defined()) {
    moved.mul_(existing_tokens(values, inputs.key_lengths));
  }
  return share_of_farthest(moved.mean(2, /*keepdim=*/true));
}

}  // namespace

void AttentionBase::observe(AttentionObserver observer) { observer_ = std::move(observer); }

void AttentionBase::reset_formulation(torch::nn::Module& module, const Formulation& formulation, std::int64_t heads,
                                      std::int64_t head_dim) {
  TORCH_CHECK(!gain_is_estimated(formulation) || !formulation.normalize_q, "quest::nn: the formulation '",
              formulation.name, "' estimates its gain and normalises queries, and a gain per sample reaches the ",
              "logits through the queries as they are; use one that does not normalise queries");
  formulation_ = formulation;
  observer_ = nullptr;
  if (!formulation.gain_is_learned) {
    return;
  }
  if (formulation.gain_axes == GainAxes::head) {
    log_gain_ = module.register_parameter("quest_log_gain", at::full({heads, 1}, std::log(kFirstHeadGain)));
    return;
  }
  const std::int64_t rows = formulation.gain_axes == GainAxes::dim ? 1 : heads;
  query_gain_ = module.register_parameter("quest_query_gain", at::ones({rows, head_dim}));
  key_gain_ = module.register_parameter("quest_key_gain", at::ones({rows, head_dim}));
}

at::Tensor AttentionBase::learned_gain() const {
  return log_gain_.defined() ? log_gain_.clamp_max(std::log(kMostHeadGain)).exp() : query_gain_ * key_gain_;
}

at::Tensor AttentionBase::attend(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                 quest::AttentionOptions options, const AttentionInputs& inputs) {
  options.formulation = formulation_;
  options.mask = inputs.mask;
  options.key_lengths = inputs.key_lengths;
  options.cu_seqlens_q = inputs.cu_seqlens;
  options.cu_seqlens_k = inputs.cu_seqlens;
  at::Tensor query = q;
  if (formulation_.gain_is_learned) {
    options.gain = learned_gain();
  } else if (gain_is_estimated(formulation_)) {
    options.gain = at::ones({}, q.options().dtype(at::kFloat));
    if (inputs.layer_values != nullptr) {
      if (inputs.layer_values->defined()) {
        query = q * estimated_gain(v.detach(), *inputs.layer_values, inputs);
      }
      *inputs.layer_values = v.detach();
    }
  }
  if (!observer_) {
    return quest::attention(query, k, v, options);
  }
  AttentionResult result = quest::attention_with_stats(query, k, v, options);
  observer_({.q = query.detach(), .k = k.detach(), .options = options, .stats = std::move(result.stats)});
  return result.output;
}

}  // namespace quest::nn
