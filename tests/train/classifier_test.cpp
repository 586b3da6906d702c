// Which loss a classifier takes of which targets.

#include "train/engine/classifier.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include "tests/testing/messages.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

using models::ClassLoss;
using train::Classifier;

// Its logits are its inputs.
class Echo final : public Classifier {
 public:
  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return 4; }
  [[nodiscard]] double forward_flops() const override { return 0.0; }
  [[nodiscard]] data::Batch load(const data::Draw& /*draw*/) const override { return {}; }
  [[nodiscard]] std::int64_t classes() const override { return 5; }
  [[nodiscard]] std::int64_t size(const std::string& /*split*/) const override { return 4; }
  [[nodiscard]] data::Batch examples(const std::string& /*split*/, std::int64_t /*first*/,
                                     std::int64_t /*last*/) const override {
    return {};
  }
  at::Tensor logits(const data::Batch& batch) override { return batch["inputs"]; }
  [[nodiscard]] double label_smoothing() const override { return smoothing; }
  [[nodiscard]] ClassLoss class_loss() const override { return kind; }

  double smoothing = 0.0;
  ClassLoss kind = ClassLoss::cross_entropy;

 private:
  torch::nn::Linear model_{1, 1};
};

struct Samples {
  at::Tensor inputs = torch::randn({4, 5});
  at::Tensor labels = torch::tensor({0, 3, 3, 4});
  at::Tensor targets = torch::rand({4, 5}).softmax(1);

  [[nodiscard]] data::Batch labelled() const { return {4, {{"inputs", inputs}, {"labels", labels}}}; }
  [[nodiscard]] data::Batch mixed() const {
    return {4, {{"inputs", inputs}, {"labels", labels}, {"targets", targets}}};
  }
};

at::Tensor loss_of(Echo& task, const data::Batch& batch) { return task.loss(batch, {}).total; }

TEST(Classifier, TakesTargetsBeforeLabels) {
  const Samples samples;
  Echo task;
  EXPECT_TRUE(identical(loss_of(task, samples.mixed()), models::soft_cross_entropy(samples.inputs, samples.targets)));
  EXPECT_TRUE(identical(loss_of(task, samples.labelled()), at::cross_entropy_loss(samples.inputs, samples.labels)));
}

TEST(Classifier, SmoothsLabelsButNotTargets) {
  const Samples samples;
  Echo task;
  task.smoothing = 0.1;
  const at::Tensor smooth = at::one_hot(samples.labels, 5) * 0.9 + 0.1 / 5;
  EXPECT_TRUE(
      close(loss_of(task, samples.labelled()), models::soft_cross_entropy(samples.inputs, smooth), {.of_value = 1e-6}));
  EXPECT_TRUE(identical(loss_of(task, samples.mixed()), models::soft_cross_entropy(samples.inputs, samples.targets)));
}

TEST(Classifier, TakesEveryClassByItselfOnRequest) {
  const Samples samples;
  Echo task;
  task.kind = ClassLoss::binary_cross_entropy;
  EXPECT_TRUE(identical(loss_of(task, samples.mixed()),
                        models::thresholded_binary_cross_entropy(samples.inputs, samples.targets)));
  EXPECT_TRUE(identical(loss_of(task, samples.labelled()),
                        models::thresholded_binary_cross_entropy(samples.inputs, at::one_hot(samples.labels, 5))));
  task.smoothing = 0.1;
  EXPECT_TRUE(has(message_of([&] { loss_of(task, samples.labelled()); }), "label smoothing must be 0, got 0.1"));
}

}  // namespace
}  // namespace quest::testing
