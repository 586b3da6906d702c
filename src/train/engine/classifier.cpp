#include "train/engine/classifier.h"

#include <torch/nn/functional/loss.h>

#include <algorithm>

#include "metrics/accuracy.h"

namespace quest::train {

namespace functional = torch::nn::functional;

Losses Classifier::loss(const data::Batch& batch, const Moment& /*moment*/) {
  const at::Tensor targets = batch.get("targets");
  if (class_loss() == models::ClassLoss::binary_cross_entropy) {
    TORCH_CHECK(label_smoothing() == 0, "binary cross-entropy takes every class with a share in the target for ",
                "present, so labels cannot be smoothed; label smoothing must be 0, got ", label_smoothing());
    const at::Tensor shares = targets.defined() ? targets : at::one_hot(batch["labels"], classes());
    return {.total = models::thresholded_binary_cross_entropy(logits(batch), shares)};
  }
  if (targets.defined()) return {.total = models::soft_cross_entropy(logits(batch), targets)};
  return {.total = functional::cross_entropy(logits(batch), batch["labels"],
                                             functional::CrossEntropyFuncOptions().label_smoothing(label_smoothing()))};
}

Classifier::Prediction Classifier::predict(const std::string& split, std::int64_t first, std::int64_t last) {
  const auto batch = examples(split, first, last).to(model().parameters().front().device());
  return {logits(batch).to(at::kFloat), batch["labels"]};
}

void Classifier::predict(const Split& split, const Predictions& take) {
  const std::int64_t end = split.end(size(split.name));
  for (std::int64_t first = split.begin(size(split.name)); first < end; first += evaluation_batch()) {
    const auto prediction = predict(split.name, first, std::min(first + evaluation_batch(), end));
    take(prediction.logits, prediction.labels);
  }
}

void Classifier::evaluate(const Split& split, metrics::Metrics& metrics) {
  auto& loss = metrics.get<metrics::Mean>("loss");
  auto& accuracy = metrics.get<metrics::Accuracy>("accuracy");
  const auto summed = functional::CrossEntropyFuncOptions().reduction(torch::kSum);
  predict(split, [&](const at::Tensor& logits, const at::Tensor& labels) {
    loss.add(functional::cross_entropy(logits, labels, summed).item<double>(), static_cast<double>(labels.size(0)));
    accuracy.add(logits, labels);
  });
}

}  // namespace quest::train
