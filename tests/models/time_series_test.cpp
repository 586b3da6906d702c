// The Transformer for time series against LibTorch's own encoder, and what it promises about padding and heads.

#include "quest/models/time_series.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::TimeSeriesHead;
using models::TimeSeriesOptions;
using models::TimeSeriesTransformer;

constexpr std::int64_t kBatch = 3;
constexpr std::int64_t kLength = 11;
constexpr std::int64_t kChannels = 5;
constexpr std::int64_t kClasses = 4;

TimeSeriesOptions small() { return TimeSeriesOptions(kChannels, kLength, kClasses).dim(24).heads(3).mlp_hidden(40); }

at::Tensor lengths() { return at::tensor({7, 11, 2}, at::kLong); }

at::Tensor padded_series() {
  at::Tensor series = at::randn({kBatch, kLength, kChannels});
  for (std::int64_t i = 0; i < kBatch; ++i) {
    series[i].slice(0, lengths()[i].item<std::int64_t>()).zero_();
  }
  return series;
}

// LibTorch's post-norm encoder in float64 with the weights of ours.
torch::nn::TransformerEncoder encoder_of(const TimeSeriesTransformer& model) {
  const auto& options = model->options;
  const auto layer = torch::nn::TransformerEncoderLayerOptions(options.dim(), options.heads())
                         .dim_feedforward(options.mlp_hidden())
                         .dropout(0.0)
                         .activation(torch::kGELU);
  torch::nn::TransformerEncoder encoder(
      torch::nn::TransformerEncoderOptions(torch::nn::TransformerEncoderLayer(layer), options.depth())
          .norm(torch::nn::AnyModule(torch::nn::LayerNorm(torch::nn::LayerNormOptions({options.dim()})))));
  const at::NoGradGuard no_gradients;
  const auto ours = model->named_parameters();
  for (auto& item : encoder->named_parameters()) {
    std::string name = item.key();
    for (const auto& [theirs, here] : {std::pair{"layers.", "blocks."}, std::pair{"self_attn.in_proj_", "attn.qkv."},
                                       std::pair{"self_attn.out_proj", "attn.proj"}, std::pair{"linear1", "mlp.fc1"},
                                       std::pair{"linear2", "mlp.fc2"}}) {
      if (const auto at = name.find(theirs); at != std::string::npos) {
        name.replace(at, std::string(theirs).size(), here);
      }
    }
    item.value().copy_(ours[name]);
  }
  encoder->to(at::kDouble);
  return encoder;
}

at::Tensor wide(const at::Tensor& tensor) { return tensor.detach().to(at::kDouble); }

at::Tensor plain_embedding(const TimeSeriesTransformer& model, const at::Tensor& series) {
  namespace F = torch::nn::functional;
  const at::Tensor around = F::pad(wide(series).transpose(1, 2), F::PadFuncOptions({1, 1}).mode(torch::kCircular));
  at::Tensor x = at::conv1d(around, wide(model->embed->weight)).transpose(1, 2).contiguous();
  for (std::int64_t step = 0; step < x.size(1); ++step) {
    for (std::int64_t i = 0; i < x.size(2); ++i) {
      const double rate = std::pow(10000.0, -static_cast<double>(i - i % 2) / static_cast<double>(x.size(2)));
      const double angle = static_cast<double>(step) * rate;
      x.select(1, step).select(1, i).add_(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return x;
}

at::Tensor plain_head(const TimeSeriesTransformer& model, const at::Tensor& x) {
  return at::linear(at::gelu(x).flatten(1), wide(model->head->weight), wide(model->head->bias));
}

TEST(TimeSeriesTransformer, ClassTokenModelIsLibTorchsEncoder) {
  torch::manual_seed(2);
  TimeSeriesTransformer model(small().formulation(formulations::standard));
  model->eval();
  const at::Tensor series = padded_series();
  const at::Tensor tokens =
      at::cat({wide(model->cls_token).expand({kBatch, 1, 24}), plain_embedding(model, series)}, 1);
  const at::Tensor encoded = encoder_of(model)->forward(tokens.transpose(0, 1)).transpose(0, 1);
  EXPECT_TRUE(close(model->forward(series), plain_head(model, encoded.select(1, 0)), {.of_largest = 1e-5}));
}

TEST(TimeSeriesTransformer, ConcatenatingModelIsLibTorchsEncoder) {
  torch::manual_seed(3);
  TimeSeriesTransformer model(small().formulation(formulations::standard).head(TimeSeriesHead::concatenation));
  model->eval();
  const at::Tensor series = padded_series();
  at::Tensor encoded =
      encoder_of(model)->forward(plain_embedding(model, series).transpose(0, 1)).transpose(0, 1).clone();
  EXPECT_TRUE(close(model->forward(series), plain_head(model, encoded), {.of_largest = 1e-5}));
  for (std::int64_t i = 0; i < kBatch; ++i) {
    encoded[i].slice(0, lengths()[i].item<std::int64_t>()).zero_();
  }
  EXPECT_TRUE(close(model->forward(series, lengths()), plain_head(model, encoded), {.of_largest = 1e-5}));
}

TEST(TimeSeriesTransformer, MaskedPaddingIsLibTorchsPaddingMask) {
  torch::manual_seed(4);
  TimeSeriesTransformer model(small().formulation(formulations::standard).mask_padding(true));
  model->eval();
  const at::Tensor series = padded_series();
  const at::Tensor tokens =
      at::cat({wide(model->cls_token).expand({kBatch, 1, 24}), plain_embedding(model, series)}, 1);
  const at::Tensor padding = at::arange(kLength + 1) > lengths().unsqueeze(1);
  const at::Tensor encoded = encoder_of(model)->forward(tokens.transpose(0, 1), {}, padding).transpose(0, 1);
  EXPECT_TRUE(close(model->forward(series, lengths()), plain_head(model, encoded.select(1, 0)), {.of_largest = 1e-5}));
}

TEST(TimeSeriesTransformer, EveryFormulationAndHeadLearns) {
  torch::manual_seed(5);
  for (const Formulation& formulation : all_formulations()) {
    for (const auto head : {TimeSeriesHead::class_token, TimeSeriesHead::concatenation}) {
      TimeSeriesTransformer model(small().formulation(formulation).head(head).mask_padding(true));
      const at::Tensor logits = model->forward(padded_series(), lengths());
      EXPECT_EQ(logits.sizes(), (at::IntArrayRef{kBatch, kClasses}));
      logits.square().sum().backward();
      for (const auto& item : model->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << formulation.name << " " << item.key();
        EXPECT_TRUE(all_finite(item.value().grad())) << formulation.name << " " << item.key();
      }
    }
  }
}

TEST(TimeSeriesTransformer, StartsAsTheExperimentDoes) {
  torch::manual_seed(6);
  const TimeSeriesTransformer model(60, 40, 3);
  EXPECT_NEAR(model->embed->weight.std().item<double>(), std::sqrt(2.0 / (3 * 60)), 2e-3);
  const auto& block = model->blocks->at<nn::BlockImpl>(0);
  EXPECT_LE(block.attn->qkv->weight.abs().max().item<double>(), 1.0 / std::sqrt(128.0));
  EXPECT_EQ(block.mlp->options.hidden(), 256);
  EXPECT_EQ(model->blocks->size(), 3U);
  EXPECT_EQ(block.attn->options.heads(), 8);
}

TEST(TimeSeriesTransformer, CountsItsArithmetic) {
  const TimeSeriesTransformer model(
      TimeSeriesOptions(2, 10, 3).dim(8).heads(2).depth(1).mlp_hidden(16).head(TimeSeriesHead::concatenation));
  EXPECT_EQ(model->forward_flops(), 2.0 * 10 * (6 * 8 + 4 * 8 * 8 + 2 * 8 * 16 + 2 * 10 * 8) + 2.0 * 80 * 3);
}

TEST(TimeSeriesTransformer, SaysWhatItTakes) {
  EXPECT_THROW(TimeSeriesTransformer(small().dim(15)), c10::Error);
  TimeSeriesTransformer model(small());
  EXPECT_THROW(model->forward(at::randn({2, kLength + 1, kChannels})), c10::Error);
  EXPECT_THROW(model->forward(at::randn({2, kLength, kChannels}), lengths()), c10::Error);
}

}  // namespace
}  // namespace quest::testing
