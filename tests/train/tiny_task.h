#pragma once

// A classification that trains in milliseconds, for what concerns the engine alone. It has attention, dropout where
// asked for, and a loss that becomes what a test wants at a step it names.

#include <torch/torch.h>

#include <cstdint>
#include <functional>

#include "metrics/mean.h"
#include "quest/nn/attention.h"
#include "tests/train/seeded.h"
#include "train/engine/task.h"

namespace quest::testing {

class TinyModelImpl : public torch::nn::Module {
 public:
  explicit TinyModelImpl(double dropout)
      : attn(register_module("attn", nn::Attention(nn::AttentionOptions(8, 2).dropout(dropout)))),
        head(register_module("head", torch::nn::Linear(8, 3))) {}

  at::Tensor forward(const at::Tensor& x) { return head(attn(x).mean(1)); }

  nn::Attention attn;
  torch::nn::Linear head;
};
TORCH_MODULE(TinyModel);

class TinyTask final : public train::Task {
 public:
  // What becomes of the loss of a pass.
  using Change = std::function<at::Tensor(at::Tensor)>;

  explicit TinyTask(double dropout = 0.0, Change change = nullptr)
      : change_(std::move(change)), model_(seeded_model(dropout)) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(7);
    inputs_ = torch::randn({60, 5, 8}, generator);
    labels_ = inputs_.mean(1).narrow(1, 0, 3).argmax(1);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return inputs_.size(0); }
  [[nodiscard]] double forward_flops() const override { return 5 * 8 * 8 * 8; }
  [[nodiscard]] train::Selection selection() const override {
    return {.metric = "loss", .higher_is_better = false, .ties_win = ties_win};
  }

  // Inputs with noise of each sample's own.
  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    on_load(draw);
    const auto samples = torch::tensor(draw.samples);
    auto inputs = inputs_.index_select(0, samples);
    for (std::size_t i = 0; i < draw.samples.size(); ++i) {
      inputs[static_cast<std::int64_t>(i)] += noise * draw.random(i).normal();
    }
    return {samples.size(0), {{"inputs", inputs}, {"labels", labels_.index_select(0, samples)}}};
  }

  train::Losses loss(const data::Batch& batch, const train::Moment& /*moment*/) override {
    const auto loss = torch::nn::functional::cross_entropy(model_(batch["inputs"]), batch["labels"]);
    return {.total = change_ ? change_(loss) : loss};
  }

  void evaluate(const train::Split& split, metrics::Metrics& metrics) override {
    on_evaluation();
    const std::int64_t first = split.begin(train_size());
    const std::int64_t count = split.end(train_size()) - first;
    const auto loss =
        torch::nn::functional::cross_entropy(model_(inputs_.narrow(0, first, count)), labels_.narrow(0, first, count),
                                             torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
    metrics.get<metrics::Mean>("loss").add(loss.item<double>(), static_cast<double>(count));
  }

  double noise = 0.0;
  bool ties_win = false;
  std::function<void()> on_evaluation = [] {};
  std::function<void(const data::Draw&)> on_load = [](const auto&) {};

 private:
  static TinyModel seeded_model(double dropout) {
    return seeded(3, [&] { return TinyModel(dropout); });
  }

  Change change_;
  TinyModel model_;
  at::Tensor inputs_;
  at::Tensor labels_;
};

}  // namespace quest::testing
