#include <gtest/gtest.h>
#include <torch/torch.h>

#include <map>
#include <string>

#include "attention/choice.h"
#include "kernels/cuda/choice.h"
#include "ops/rules/path.h"
#include "ops/rules/text.h"
#include "tests/rules/table.h"

namespace quest::testing {
namespace {

using nlohmann::json;
using ops::DeviceKind;
using ops::ElementType;

const std::map<std::string, DeviceKind> kDevices = {
    {"cpu", DeviceKind::cpu}, {"cuda", DeviceKind::cuda}, {"meta", DeviceKind::meta}, {"other", DeviceKind::other}};

const std::map<std::string, ElementType> kTypes = {{"float32", ElementType::float32},
                                                   {"float64", ElementType::float64},
                                                   {"bfloat16", ElementType::bfloat16},
                                                   {"float16", ElementType::float16}};

const std::map<ElementType, at::ScalarType> kTorchTypes = {{ElementType::float32, at::kFloat},
                                                           {ElementType::float64, at::kDouble},
                                                           {ElementType::bfloat16, at::kBFloat16},
                                                           {ElementType::float16, at::kHalf}};

ops::CallFacts facts_of(const json& call) {
  return {.device = kDevices.at(call.at("device")),
          .has_cuda_operators = call.at("has_cuda_operators"),
          .type = kTypes.at(call.at("type")),
          .queries = call.at("queries"),
          .keys = call.at("keys"),
          .dim = call.at("dim"),
          .value_dim = call.at("value_dim"),
          .has_mask = call.at("has_mask"),
          .has_key_lengths = call.at("has_key_lengths"),
          .is_packed = call.at("is_packed"),
          .is_causal_to_last = call.at("is_causal_to_last"),
          .transform_is_active = call.at("transform_is_active"),
          .has_forward_gradient = call.at("has_forward_gradient")};
}

struct Case {
  std::string name;
  ops::CallFacts call;
  json obstacle;
  bool takes_float32 = false;
};

std::vector<Case> cases() {
  const json table = testing::table("calls.json");
  std::vector<Case> all;
  for (const json& one : table.at("cases")) {
    json call = table.at("unless_told");
    call.update(one.at("call"));
    all.push_back({one.at("call").dump(), facts_of(call), one.at("obstacle"), one.at("takes_float32")});
  }
  return all;
}

TEST(Calls, MeetTheObstaclesOfTheTable) {
  for (const Case& one : cases()) {
    const ops::Obstacle* obstacle = ops::first_obstacle(one.call);
    EXPECT_EQ(obstacle == nullptr ? json() : json(obstacle->text), one.obstacle) << one.name;
  }
}

TEST(Calls, TakeFloat32AsInTheTable) {
  for (const Case& one : cases()) EXPECT_EQ(ops::takes_float32(one.call), one.takes_float32) << one.name;
}

TEST(Calls, OfRealTensorsMeetTheSame) {
  for (const Case& one : cases()) {
    const ops::CallFacts& call = one.call;
    const bool is_at_hand = call.device == DeviceKind::cpu || call.device == DeviceKind::meta;
    if (!is_at_hand || call.transform_is_active || call.has_forward_gradient) continue;
    const auto options =
        at::TensorOptions(call.device == DeviceKind::cpu ? at::kCPU : at::kMeta).dtype(kTorchTypes.at(call.type));
    const auto tensor = [&](std::int64_t rows, std::int64_t dim) { return at::empty({1, 2, rows, dim}, options); };
    AttentionOptions asked;
    if (call.has_mask) asked.mask = at::empty({call.queries, call.keys}, options);
    const auto choice = explain_path(tensor(call.queries, call.dim), tensor(call.keys, call.dim),
                                     tensor(call.keys, call.value_dim), asked);
    EXPECT_EQ(choice.path == AttentionPath::fused, one.obstacle.is_null()) << one.name;
    if (!one.obstacle.is_null()) {
      EXPECT_EQ(choice.reason, one.obstacle.get<std::string>()) << one.name;
    }
  }
}

TEST(Limits, ToldToOtherLanguagesAreThoseOfTheKernels) {
  const json limits = json::parse(ops::rules_as_json()).at("limits");
  EXPECT_EQ(limits.at("largest_cuda_dim"), kernels::cuda::kLargestDim);
  const std::int64_t word = limits.at("dims_per_word");
  for (std::int64_t dim = 1; dim <= kernels::cuda::kLargestDim; ++dim) {
    EXPECT_EQ(kernels::cuda::takes_float32(dim, dim, /*masked=*/true), dim % word != 0) << dim;
  }
}

// Shapes, and gradients' shapes, come from the operators' own rules.
TEST(MetaTensors, AreServedWithoutData) {
  const at::Tensor q = at::empty({2, 4, 5, 8}, at::kMeta).requires_grad_();
  const at::Tensor k = at::empty({2, 4, 7, 8}, at::kMeta);
  const at::Tensor v = at::empty({2, 4, 7, 6}, at::kMeta);
  const at::Tensor out = attention(q, k, v);
  EXPECT_EQ(out.sizes(), at::IntArrayRef({2, 4, 5, 6}));
  EXPECT_EQ(torch::autograd::grad({out.sum()}, {q})[0].sizes(), q.sizes());
}

}  // namespace
}  // namespace quest::testing
