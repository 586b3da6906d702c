#pragma once

// The Transformer of the time-series experiments: every time step is a token, classified by a class token or by all
// outputs side by side.

#include <torch/nn/cloneable.h>
#include <torch/nn/modules/container/modulelist.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/dropout.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/normalization.h>
#include <torch/nn/pimpl.h>

#include <cstdint>

#include "quest/nn/block.h"

namespace quest::models {

enum class TimeSeriesHead {
  class_token,    // the paper's
  concatenation,  // that of the code the paper builds on: the outputs of all time steps in one vector, padding as 0
};

// The defaults are those of the paper's experiment.
struct TimeSeriesOptions {
  TimeSeriesOptions(std::int64_t channels, std::int64_t length, std::int64_t classes)
      : channels_(channels), length_(length), classes_(classes) {}

  TORCH_ARG(std::int64_t, channels);
  TORCH_ARG(std::int64_t, length);  // of every series, padding included
  TORCH_ARG(std::int64_t, classes);
  TORCH_ARG(std::int64_t, dim) = 128;
  TORCH_ARG(std::int64_t, depth) = 3;
  TORCH_ARG(std::int64_t, heads) = 8;
  TORCH_ARG(std::int64_t, mlp_hidden) = 256;
  TORCH_ARG(double, dropout) = 0.1;  // everywhere, the attention weights included
  TORCH_ARG(Formulation, formulation) = formulations::quest;
  TORCH_ARG(TimeSeriesHead, head) = TimeSeriesHead::class_token;
  TORCH_ARG(bool, mask_padding) = false;  // false: attention sees padding, as in the experiment
};

class QUEST_API TimeSeriesTransformerImpl : public torch::nn::Cloneable<TimeSeriesTransformerImpl> {
 public:
  TimeSeriesTransformerImpl(std::int64_t channels, std::int64_t length, std::int64_t classes)
      : TimeSeriesTransformerImpl(TimeSeriesOptions(channels, length, classes)) {}
  explicit TimeSeriesTransformerImpl(const TimeSeriesOptions& options);

  void reset() override;

  // series [B, length, channels], zeros after the end; lengths [B] integers, undefined: no series has padding.
  // -> [B, classes]
  at::Tensor forward(const at::Tensor& series, const at::Tensor& lengths = {});

  // Multiplications and additions of forward, per series.
  [[nodiscard]] double forward_flops() const;

  TimeSeriesOptions options;
  torch::nn::Conv1d embed{nullptr};
  at::Tensor pos_embed;  // a buffer: the sinusoid is not learned
  at::Tensor cls_token;
  torch::nn::Dropout drop{nullptr};
  torch::nn::ModuleList blocks{nullptr};
  torch::nn::LayerNorm norm{nullptr};
  torch::nn::Linear head{nullptr};

 private:
  [[nodiscard]] bool has_class_token() const { return options.head() == TimeSeriesHead::class_token; }
  [[nodiscard]] std::int64_t tokens_read_by_head() const { return has_class_token() ? 1 : options.length(); }
  at::Tensor embed_steps(const at::Tensor& series);
  at::Tensor encode(at::Tensor x, const at::Tensor& lengths);
};

TORCH_MODULE(TimeSeriesTransformer);

}  // namespace quest::models
