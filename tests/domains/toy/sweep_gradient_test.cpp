// The sweep engine's gradients and weights against autograd in float64, for every formulation and wiring.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <string>
#include <vector>

#include "base/random.h"
#include "domains/toy/engine/cpu/lane_models.h"
#include "domains/toy/engine/parameters.h"
#include "domains/toy/spurious_settings.h"
#include "tests/domains/toy/toy_reference.h"
#include "tests/kernels/instruction_sets.h"

namespace quest::testing {
namespace {

namespace cpu = toy::engine::cpu;
using toy::engine::Wiring;

struct GradientCase {
  Formulation formulation;
  Wiring wiring;

  [[nodiscard]] toy::engine::Model model(int tokens) const {
    return toy::model_of({.formulation = formulation, .wiring = wiring, .sizes = {.tokens = tokens}});
  }
};

constexpr std::array kFormulations = {formulations::standard,  formulations::quest,     formulations::qnorm,
                                      formulations::qknorm_hs, formulations::qknorm_ds, formulations::qknorm};

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  for (const Formulation& formulation : kFormulations) {
    for (const Wiring wiring : {Wiring::algorithm, Wiring::pre_norm}) cases.push_back({formulation, wiring});
  }
  return cases;
}

std::string case_name(const ::testing::TestParamInfo<GradientCase>& info) {
  auto name = std::string(info.param.formulation.name) + "_" + std::string(toy::wiring_name(info.param.wiring));
  std::ranges::replace(name, '-', '_');
  return name;
}

class SweepGradient : public ::testing::TestWithParam<GradientCase> {
 protected:
  // Tensors this small are not worth a second thread, and on a busy machine threads wait long for each other.
  SweepGradient() { at::set_num_threads(1); }
};

constexpr float kLearningRate = 1e-3F;
constexpr float kWeightDecay = 0.1F;
constexpr double kBound = 1e-5;

// Away from the values where parameters start, so that none of them is neutral.
std::vector<float> some_parameters(int tokens, std::uint64_t initialization) {
  auto parameters = toy::engine::initial_parameters(tokens, 1, initialization);
  base::Random random(2, {initialization});
  for (float& value : parameters) value += static_cast<float>(0.1 * random.normal());
  return parameters;
}

at::Tensor lane_of(const cpu::LaneFloats& values, const cpu::LaneModels& models, int lane) {
  auto tensor = torch::empty({models.layout.count}, torch::kFloat64);
  for (int i = 0; i < models.layout.count; ++i) tensor[i] = values[static_cast<std::size_t>(i) * models.lanes + lane];
  return tensor;
}

double worst(const at::Tensor& a, const at::Tensor& b) { return (a - b).abs().max().item<double>(); }

void step(ToyReference& reference, torch::optim::Optimizer& optimizer, const at::Tensor& loss) {
  optimizer.zero_grad();
  loss.backward();
  for (const auto& parameter : reference.parameters()) {
    if (!parameter.grad().defined()) parameter.mutable_grad() = torch::zeros_like(parameter);
  }
  optimizer.step();
}

torch::optim::AdamW adamw(const ToyReference& reference) {
  return torch::optim::AdamW(reference.parameters(),
                             torch::optim::AdamWOptions(kLearningRate).weight_decay(kWeightDecay));
}

void compare_one_step(const toy::engine::Model& model, int lane) {
  const auto data =
      toy::engine::draw_realization({.tokens = model.tokens, .training_samples = 20, .test_samples = 1}, 5, 0);
  std::vector<int> samples;
  for (int i = 0; i < 19; ++i) samples.push_back((7 * i) % 20);
  cpu::LaneModels models(model, cpu::model_lanes());
  for (int i = 0; i < models.lanes; ++i) {
    models.set_lane(i, some_parameters(model.tokens, i), kLearningRate, kWeightDecay);
  }
  const auto totals = cpu::batch_gradient(models, data.training, samples);

  ToyReference reference(model, some_parameters(model.tokens, lane), torch::kFloat64);
  const auto all = tensors_of(data.training, torch::kFloat64);
  const auto which = torch::tensor(std::vector<std::int64_t>(samples.begin(), samples.end()));
  const auto labels = all.labels.index_select(0, which);
  const auto logits = reference.logits(all.inputs.index_select(0, which));
  const auto loss = torch::nn::functional::cross_entropy(logits, labels);
  auto optimizer = adamw(reference);
  step(reference, optimizer, loss);

  EXPECT_NEAR(totals.loss[lane] / static_cast<double>(samples.size()), loss.item<double>(), kBound);
  EXPECT_EQ(totals.correct[lane], logits.argmax(1).eq(labels).sum().item<float>());
  const auto gradient = reference.flat_gradient();
  EXPECT_LT(worst(lane_of(models.gradient, models, lane), gradient), kBound * gradient.abs().max().item<double>());

  cpu::adamw_step(models);
  EXPECT_LT(worst(lane_of(models.weights, models, lane), reference.flat_parameters()), kBound);
}

TEST_P(SweepGradient, AndWeightsAfterAStepAreThoseOfAutograd) {
  const auto model = GetParam().model(7);
  for_each_instruction_set([&] {
    for (const int lane : {0, cpu::model_lanes() - 1}) compare_one_step(model, lane);
  });
}

TEST_P(SweepGradient, LeadsTheLossWhereAutogradLeadsIt) {
  const auto model = GetParam().model(5);
  const auto data =
      toy::engine::draw_realization({.tokens = 5, .training_samples = 24, .test_samples = 1}, 5, 0).training;
  std::vector<int> samples(data.samples);
  std::iota(samples.begin(), samples.end(), 0);
  cpu::LaneModels models(model, cpu::model_lanes());
  models.set_lane(0, some_parameters(model.tokens, 0), kLearningRate, kWeightDecay);
  ToyReference reference(model, some_parameters(model.tokens, 0), torch::kFloat64);
  auto optimizer = adamw(reference);
  const auto all = tensors_of(data, torch::kFloat64);
  for (int i = 0; i < 25; ++i) {
    const auto totals = cpu::batch_gradient(models, data, samples);
    cpu::adamw_step(models);
    const auto loss = torch::nn::functional::cross_entropy(reference.logits(all.inputs), all.labels);
    step(reference, optimizer, loss);
    ASSERT_NEAR(totals.loss[0] / data.samples, loss.item<double>(), 1e-4) << "step " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Formulations, SweepGradient, ::testing::ValuesIn(gradient_cases()), case_name);

}  // namespace
}  // namespace quest::testing
