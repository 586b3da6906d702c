#include "quest/models/time_series.h"

#include <torch/torch.h>

#include <cmath>

#include "quest/nn/initialization.h"

namespace quest::models {
namespace {

constexpr std::int64_t kTaps = 3;
constexpr double kTokenDeviation = 0.02;
constexpr double kNormEps = 1e-5;
constexpr double kLongestWave = 10000.0;

void check(const TimeSeriesOptions& options) {
  TORCH_CHECK(options.channels() > 0 && options.length() > 0 && options.classes() > 0 && options.depth() > 0,
              "quest::models: a TimeSeriesTransformer needs at least one channel, time step, class and block, got ",
              options.channels(), " channels, length ", options.length(), ", ", options.classes(), " classes, depth ",
              options.depth());
  TORCH_CHECK(options.dim() % 2 == 0,
              "quest::models: the sinusoid of a TimeSeriesTransformer needs an even width, got ", options.dim());
}

// [1, length, dim]: sines in the even channels, cosines in the odd ones.
at::Tensor sinusoid(std::int64_t length, std::int64_t dim) {
  const at::Tensor frequency =
      at::exp(at::arange(0, dim, 2, at::kDouble) * (-std::log(kLongestWave) / static_cast<double>(dim)));
  const at::Tensor angle = at::arange(length, at::kDouble).unsqueeze(1) * frequency;
  return at::stack({angle.sin(), angle.cos()}, -1).view({1, length, dim}).to(at::kFloat);
}

}  // namespace

TimeSeriesTransformerImpl::TimeSeriesTransformerImpl(const TimeSeriesOptions& given) : options(given) { reset(); }

void TimeSeriesTransformerImpl::reset() {
  check(options);
  const std::int64_t dim = options.dim();
  embed = register_module(
      "embed", torch::nn::Conv1d(torch::nn::Conv1dOptions(options.channels(), dim, kTaps).padding(1).bias(false)));
  torch::nn::init::kaiming_normal_(embed->weight);
  pos_embed = register_buffer("pos_embed", sinusoid(options.length(), dim));
  if (has_class_token()) {
    cls_token = register_parameter("cls_token", at::zeros({1, 1, dim}));
    nn::trunc_normal(cls_token, kTokenDeviation);
  }
  drop = register_module("drop", torch::nn::Dropout(options.dropout()));
  blocks = register_module("blocks", torch::nn::ModuleList());
  for (std::int64_t i = 0; i < options.depth(); ++i) {
    blocks->push_back(nn::Block(nn::BlockOptions(dim, options.heads())
                                    .mlp_hidden(options.mlp_hidden())
                                    .formulation(options.formulation())
                                    .norm_place(nn::NormPlace::post)
                                    .norm_eps(kNormEps)
                                    .dropout(options.dropout())
                                    .attention_dropout(options.dropout())));
  }
  norm = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({dim}).eps(kNormEps)));
  head = register_module("head", torch::nn::Linear(tokens_read_by_head() * dim, options.classes()));
}

// A convolution over time whose ends meet: step l reads steps l-1, l and l+1, so it is a product with three shifted
// copies.
at::Tensor TimeSeriesTransformerImpl::embed_steps(const at::Tensor& series) {
  const at::Tensor neighbours = at::cat({series.roll(1, 1), series, series.roll(-1, 1)}, -1);
  const at::Tensor taps = embed->weight.permute({0, 2, 1}).flatten(1);
  return drop->forward(at::linear(neighbours, taps).add_(pos_embed));
}

at::Tensor TimeSeriesTransformerImpl::encode(at::Tensor x, const at::Tensor& lengths) {
  nn::AttentionInputs inputs;
  if (has_class_token()) {
    x = at::cat({cls_token.expand({x.size(0), -1, -1}), x}, 1);
  }
  if (options.mask_padding() && lengths.defined()) {
    inputs.key_lengths = lengths + (has_class_token() ? 1 : 0);
  }
  return norm->forward(nn::run_blocks(blocks, x, tokens_read_by_head(), inputs));
}

at::Tensor TimeSeriesTransformerImpl::forward(const at::Tensor& series, const at::Tensor& lengths) {
  TORCH_CHECK(series.dim() == 3 && series.size(1) == options.length() && series.size(2) == options.channels(),
              "quest::models: this TimeSeriesTransformer takes series of shape [batch, ", options.length(), ", ",
              options.channels(), "], got ", series.sizes());
  TORCH_CHECK(!lengths.defined() || (lengths.dim() == 1 && lengths.size(0) == series.size(0)),
              "quest::models: lengths must have shape [", series.size(0), "], one for each series, got ",
              lengths.defined() ? lengths.sizes() : at::IntArrayRef());
  at::Tensor x = drop->forward(at::gelu(encode(embed_steps(series), lengths)));
  if (!has_class_token() && lengths.defined()) {
    const at::Tensor exists = at::arange(options.length(), lengths.options()) < lengths.unsqueeze(1);
    x = x * exists.unsqueeze(-1).to(x.scalar_type());
  }
  return head->forward(x.flatten(1));
}

double TimeSeriesTransformerImpl::forward_flops() const {
  const std::int64_t tokens = options.length() + (has_class_token() ? 1 : 0);
  const auto ends =
      options.length() * kTaps * options.channels() * options.dim() + head->options.in_features() * options.classes();
  return 2 * static_cast<double>(ends) + nn::blocks_flops(blocks, tokens, tokens_read_by_head());
}

}  // namespace quest::models
