#pragma once

// A task that puts each sample into one of some classes: its evaluation, and what evaluations of trained classifiers
// (calibration, attacks, corruptions) need of it.

#include <functional>
#include <string>

#include "quest/models/class_losses.h"
#include "train/engine/task.h"

namespace quest::train {

class Classifier : public Task {
 public:
  [[nodiscard]] virtual std::int64_t classes() const = 0;
  [[nodiscard]] virtual std::int64_t size(const std::string& split) const = 0;
  // A batch of that split, samples first to last - 1, into the host's memory. Like those of load(), it has "labels".
  [[nodiscard]] virtual data::Batch examples(const std::string& split, std::int64_t first, std::int64_t last) const = 0;
  // [samples, classes], of a batch on the model's device.
  [[nodiscard]] virtual at::Tensor logits(const data::Batch& batch) = 0;
  [[nodiscard]] virtual std::int64_t evaluation_batch() const { return 500; }
  [[nodiscard]] virtual double label_smoothing() const { return 0.0; }  // of labels; targets come smoothed
  [[nodiscard]] virtual models::ClassLoss class_loss() const { return models::ClassLoss::cross_entropy; }

  // Of the batch's "targets", shares of classes [samples, classes], where it has them, else of its "labels".
  [[nodiscard]] Losses loss(const data::Batch& batch, const Moment& moment) override;
  // "loss" and "accuracy".
  void evaluate(const Split& split, metrics::Metrics& metrics) override;
  [[nodiscard]] Selection selection() const override { return {.metric = "accuracy"}; }

  struct Prediction {
    at::Tensor logits;  // float32; like the labels on the model's device
    at::Tensor labels;
  };
  // Of that split's samples first to last - 1, as one batch.
  [[nodiscard]] Prediction predict(const std::string& split, std::int64_t first, std::int64_t last);

  // Of the split's part, batch by batch.
  using Predictions = std::function<void(const at::Tensor& logits, const at::Tensor& labels)>;
  void predict(const Split& split, const Predictions& take);
};

}  // namespace quest::train
