#include "train/monitor/monitor.h"

#include <gtest/gtest.h>
#include <quest/nn/block.h>
#include <torch/torch.h>

#include "tests/testing/tensors.h"
#include "train/run/explosion_warning.h"

namespace quest::train {
namespace {

constexpr std::int64_t kTokens = 12;
constexpr std::int64_t kClasses = 6;
constexpr std::int64_t kInputs = 16;
constexpr std::int64_t kWidth = 48;

// A small transformer with names like a ViT's.
struct Model : torch::nn::Module {
  explicit Model(const Formulation& formulation) {
    for (int i = 0; i < 2; ++i) blocks->push_back(nn::Block(nn::BlockOptions(kWidth, 3).formulation(formulation)));
    register_module("embed", embed);
    register_module("blocks", blocks);
    register_module("head", head);
  }
  at::Tensor forward(const at::Tensor& inputs) {
    at::Tensor x = embed->forward(inputs);
    for (const auto& block : *blocks) x = block->as<nn::Block>()->forward(x);
    return head->forward(x.mean(1));
  }
  torch::nn::Linear embed{kInputs, kWidth};
  torch::nn::ModuleList blocks;
  torch::nn::Linear head{kWidth, kClasses};
};

TEST(Monitor, RecordsEveryLayerAtTheStepsItWatches) {
  torch::manual_seed(1);
  Model model(formulations::quest);
  const at::Tensor x = torch::randn({4, kTokens, kInputs});
  const at::Tensor expected = model.forward(x);
  Monitor monitor(model, 10);
  EXPECT_EQ(monitor.layers(), 2U);
  for (const std::int64_t step : {9, 10, 11}) {
    monitor.begin(step);
    EXPECT_TRUE(testing::identical(model.forward(x), expected)) << "watching changed the output";
    const auto records = monitor.end();
    ASSERT_EQ(records.size(), step == 10 ? 2U : 0U);
    if (step != 10) continue;
    EXPECT_EQ(records[0].layer, "blocks.0.attn");
    EXPECT_EQ(records[1].layer, "blocks.1.attn");
    EXPECT_EQ(records[1].step, 10);
    EXPECT_EQ(records[1].heads(), 3U);
    EXPECT_LE(records[1].max_logit[0], records[1].query_norm[0] * 1.0001) << "QUEST's logits end at the query's norm";
  }
}

TEST(Monitor, KeepsTheFirstCallAndOnlyUntilTheEnd) {
  torch::manual_seed(1);
  Model model(formulations::standard);
  const at::Tensor x = torch::randn({4, kTokens, kInputs});
  Monitor monitor(model, 1);
  monitor.begin(1);
  model.forward(x);
  const auto once = monitor.end();
  model.forward(x * 2.0);
  EXPECT_TRUE(monitor.end().empty());
  monitor.begin(1);
  model.forward(x);
  model.forward(x * 2.0);
  EXPECT_EQ(monitor.end(), once);
}

TEST(Monitor, WatchesNothingWithoutSteps) {
  Model model(formulations::quest);
  Monitor monitor(model, 0);
  monitor.begin(0);
  model.forward(torch::randn({1, kTokens, kInputs}));
  EXPECT_TRUE(monitor.end().empty());
}

TEST(Monitor, LeavesNoObserverBehind) {
  Model model(formulations::quest);
  {
    Monitor monitor(model, 1);
    monitor.begin(1);
  }
  EXPECT_EQ(model.forward(torch::randn({1, kTokens, kInputs})).size(1), kClasses);
}

// A class is three tokens at random places among noise.
struct Batches {
  at::Tensor patterns = torch::randn({kClasses, 3, kInputs});

  [[nodiscard]] std::pair<at::Tensor, at::Tensor> next() const {
    const at::Tensor y = torch::randint(kClasses, {32});
    const at::Tensor rows = torch::arange(32);
    at::Tensor x = 0.7 * torch::randn({32, kTokens, kInputs});
    for (std::int64_t i = 0; i < 3; ++i) {
      const at::Tensor place = torch::randint(kTokens, {32});
      x.index_put_({rows, place}, patterns.index({y, torch::tensor(i)}), /*accumulate=*/true);
    }
    return {x, y};
  }
};

struct Watched {
  double loss = 0.0;
  std::vector<ExplosionWarning> warnings;
};

Watched train(double lr) {
  torch::manual_seed(1);
  Model model(formulations::standard);
  torch::optim::AdamW optimizer(model.parameters(), torch::optim::AdamWOptions(lr));
  const Batches batches;
  Monitor monitor(model, 10);
  LayerExplosionDetector detector;
  Watched watched;
  for (std::int64_t step = 1; step <= 200; ++step) {
    const auto [x, y] = batches.next();
    monitor.begin(step);
    const at::Tensor loss = torch::nn::functional::cross_entropy(model.forward(x), y);
    for (const LayerRecord& record : monitor.end()) {
      for (auto& warning : detector.add(record)) watched.warnings.push_back(std::move(warning));
    }
    optimizer.zero_grad();
    loss.backward();
    optimizer.step();
    watched.loss = loss.item<double>();
  }
  return watched;
}

TEST(Monitor, WarnsOfARealExplosionAndNotOfARealTraining) {
  at::set_num_threads(1);  // too small to share
  const Watched healthy = train(2e-3);
  EXPECT_LT(healthy.loss, 0.6) << "it was meant to learn";
  EXPECT_TRUE(healthy.warnings.empty()) << healthy.warnings.front().text();
  const Watched wild = train(5e-2);
  ASSERT_FALSE(wild.warnings.empty());
  EXPECT_LE(wild.warnings.front().now.step, 200);
}

}  // namespace
}  // namespace quest::train
