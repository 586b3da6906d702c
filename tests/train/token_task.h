#pragma once

// A regression over samples of different lengths, whose loss is a mean over their tokens, with a hook for everything
// else in which a task has a say.

#include <torch/torch.h>

#include <functional>
#include <string>
#include <vector>

#include "metrics/mean.h"
#include "tests/train/seeded.h"
#include "train/engine/task.h"

namespace quest::testing {

struct TokenModel : torch::nn::Module {
  explicit TokenModel(bool has_norm) {
    if (has_norm) norm = register_module("norm", torch::nn::BatchNorm1d(4));
    linear = register_module("linear", torch::nn::Linear(4, 1));
    // Not trained; what a task keeps in the model and changes by itself.
    teacher = register_parameter("teacher", torch::zeros({1, 4}), /*requires_grad=*/false);
  }

  at::Tensor forward(const at::Tensor& x) {
    const auto rows = norm.is_empty() ? x : norm(x.flatten(0, 1)).view_as(x);
    return linear(rows).squeeze(-1);
  }

  torch::nn::BatchNorm1d norm = nullptr;
  torch::nn::Linear linear = nullptr;
  at::Tensor teacher;
};

class TokenTask final : public train::Task {
 public:
  static constexpr std::int64_t kSamples = 24;
  static constexpr std::int64_t kTokens = 5;

  explicit TokenTask(bool has_norm = false)
      : model_(seeded(3, [&] { return std::make_shared<TokenModel>(has_norm); })) {
    auto generator = at::make_generator<at::CPUGeneratorImpl>(9);
    x = torch::randn({kSamples, kTokens, 4}, generator);
    y = torch::randn({kSamples, kTokens}, generator);
    const auto lengths = torch::arange(kSamples).mul(7).remainder(kTokens) + 1;
    mask = torch::arange(kTokens).unsqueeze(0).lt(lengths.unsqueeze(1)).to(at::kFloat);
  }

  torch::nn::Module& model() override { return *model_; }
  [[nodiscard]] TokenModel& parts() { return *model_; }
  [[nodiscard]] std::int64_t train_size() const override { return kSamples; }
  [[nodiscard]] double forward_flops() const override { return 0.0; }
  [[nodiscard]] std::vector<std::string> splits() const override { return names_of_splits; }
  [[nodiscard]] train::Selection selection() const override { return {.metric = selects, .higher_is_better = false}; }
  [[nodiscard]] train::ParameterRules rules() const override { return own_rules; }

  [[nodiscard]] data::Batch load(const data::Draw& draw) const override {
    const auto samples = torch::tensor(draw.samples);
    return {samples.size(0),
            {{"x", x.index_select(0, samples)},
             {"y", y.index_select(0, samples)},
             {"mask", mask.index_select(0, samples)}}};
  }

  train::Losses loss(const data::Batch& batch, const train::Moment& moment) override {
    const auto error = (model_->forward(batch["x"]) - batch["y"]) * batch["mask"];
    const auto tokens = batch["mask"].sum();
    auto total = error.square().sum() / tokens;
    train::Losses losses{.total = total, .parts = {{"squared", total}, {"absolute", error.abs().sum() / tokens}}};
    if (tells_weight) losses.weight = tokens.item<double>();
    if (change_loss) losses.total = change_loss(total, moment);
    if (change_parts) change_parts(losses.parts);
    return losses;
  }

  // The first split is the training set, the others the same with other answers.
  void evaluate(const train::Split& split, metrics::Metrics& metrics) override {
    on_evaluation(split);
    const auto first = split.begin(kSamples);
    const auto last = split.end(kSamples);
    const auto answers = split.name == names_of_splits.front() ? y : -y;
    const auto error =
        (model_->forward(x.slice(0, first, last)) - answers.slice(0, first, last)) * mask.slice(0, first, last);
    metrics.get<metrics::Mean>("loss").add(error.square().sum().item<double>(),
                                           mask.slice(0, first, last).sum().item<double>());
    metrics.get<metrics::Mean>("bias").add(error.sum().item<double>() * bias_scale,
                                           mask.slice(0, first, last).sum().item<double>());
  }

  void after_update(const train::Moment& moment) override { on_update(moment); }
  [[nodiscard]] train::NamedTensors state() override { return own_state; }

  at::Tensor x, y, mask;
  bool tells_weight = true;
  double bias_scale = 1.0;
  std::string selects = "loss";
  std::vector<std::string> names_of_splits = {"test"};
  train::ParameterRules own_rules;
  train::NamedTensors own_state;
  std::function<at::Tensor(const at::Tensor& loss, const train::Moment&)> change_loss;
  std::function<void(train::NamedTensors& parts)> change_parts;
  std::function<void(const train::Moment&)> on_update = [](const auto&) {};
  std::function<void(const train::Split&)> on_evaluation = [](const auto&) {};

 private:
  std::shared_ptr<TokenModel> model_;
};

// Plain gradient descent: nothing but what a task adds happens to the weights.
inline train::Recipe token_recipe() {
  train::Recipe recipe{.task = "tokens", .seed = 2};
  recipe.train = {
      .epochs = 3, .batch_size = TokenTask::kSamples, .checkpoint_every = 1, .log_every = 1, .monitor_every = 0};
  recipe.optimizer = {.name = "sgd", .lr = 0.1, .momentum = 0.0};
  recipe.schedule.name = "constant";
  return recipe;
}

}  // namespace quest::testing
