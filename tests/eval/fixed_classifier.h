#pragma once

// A classifier whose logits a test chooses; it remembers which samples were asked for.

#include <torch/torch.h>

#include <string>
#include <utility>
#include <vector>

#include "train/engine/classifier.h"

namespace quest::testing {

class ScaleModelImpl : public torch::nn::Module {
 public:
  ScaleModelImpl() {
    scale = register_parameter("scale", torch::ones({1}));
    offset = register_buffer("offset", torch::zeros({1}));
  }

  at::Tensor scale;
  at::Tensor offset;
};
TORCH_MODULE(ScaleModel);

class FixedClassifier final : public train::Classifier {
 public:
  // Logits [samples, classes], the same in every split.
  FixedClassifier(at::Tensor logits, at::Tensor labels, std::int64_t batch = 500,
                  std::vector<std::string> splits = {"test"})
      : logits_(std::move(logits)), labels_(std::move(labels)), batch_(batch), splits_(std::move(splits)) {}

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return labels_.size(0); }
  [[nodiscard]] double forward_flops() const override { return 0.0; }
  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    const auto samples = torch::tensor(draw.samples);
    return {samples.size(0),
            {{"inputs", logits_.index_select(0, samples)}, {"labels", labels_.index_select(0, samples)}}};
  }
  [[nodiscard]] std::vector<std::string> splits() const override { return splits_; }
  [[nodiscard]] std::int64_t classes() const override { return logits_.size(1); }
  [[nodiscard]] std::int64_t size(const std::string& /*split*/) const override { return labels_.size(0); }
  [[nodiscard]] std::int64_t evaluation_batch() const override { return batch_; }

  [[nodiscard]] data::Batch examples(const std::string& split, std::int64_t first, std::int64_t last) const override {
    asked.emplace_back(split, first);
    return {last - first,
            {{"inputs", logits_.narrow(0, first, last - first)}, {"labels", labels_.narrow(0, first, last - first)}}};
  }
  at::Tensor logits(const data::Batch& batch) override {
    had_gradients = had_gradients || at::GradMode::is_enabled();
    was_training = was_training || model_->is_training();
    return batch["inputs"] * model_->scale + model_->offset;
  }

  mutable std::vector<std::pair<std::string, std::int64_t>> asked;  // splits and first samples of batches
  bool had_gradients = false;
  bool was_training = false;

 private:
  at::Tensor logits_;
  at::Tensor labels_;
  std::int64_t batch_;
  std::vector<std::string> splits_;
  ScaleModel model_;
};

}  // namespace quest::testing
