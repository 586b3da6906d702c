#pragma once

// A classification that trains in milliseconds, for what concerns the engine alone. It has attention, dropout where
// asked for, and a loss that becomes what a test wants at a step it names.

#include <torch/torch.h>

#include <cstdint>
#include <functional>

#include "quest/nn/attention.h"
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

  at::Tensor loss(const train::TrainBatch& batch) override {
    const auto samples = torch::tensor(batch.samples);
    const auto loss = torch::nn::functional::cross_entropy(model_(inputs_.index_select(0, samples)),
                                                           labels_.index_select(0, samples));
    return change_ ? change_(loss) : loss;
  }

  std::vector<train::Tally> evaluate(train::Shard shard) override {
    on_evaluation();
    const std::int64_t first = train_size() * shard.index / shard.count;
    const std::int64_t count = train_size() * (shard.index + 1) / shard.count - first;
    const auto loss =
        torch::nn::functional::cross_entropy(model_(inputs_.narrow(0, first, count)), labels_.narrow(0, first, count),
                                             torch::nn::functional::CrossEntropyFuncOptions().reduction(torch::kSum));
    return {{.name = "loss", .sum = loss.item<double>(), .count = static_cast<double>(count)}};
  }

  bool ties_win = false;
  std::function<void()> on_evaluation = [] {};

 private:
  static TinyModel seeded_model(double dropout) {
    torch::manual_seed(3);
    return TinyModel(dropout);
  }

  Change change_;
  TinyModel model_;
  at::Tensor inputs_;
  at::Tensor labels_;
};

}  // namespace quest::testing
