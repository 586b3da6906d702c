#include "train/optim/clipping.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "tests/testing/tensors.h"
#include "tests/train/small_model.h"

namespace quest::testing {
namespace {

using train::FlatParameters;
using train::Share;
using train::Slice;

constexpr Bound kRounding{.of_value = 1e-6};

struct Gradients {
  torch::nn::Sequential model = small_model();
  FlatParameters parameters = flat(model);

  Gradients() { model->forward(torch::linspace(-1, 1, 20).view({4, 5})).square().sum().backward(); }
};

TEST(Clipping, GlobalNormEqualsTorch) {
  Gradients ours;
  Gradients torchs;
  for (const double most : {100.0, 1.0, 0.1}) {
    const double norm = train::clip_gradients(ours.parameters, most).item<double>();
    EXPECT_NEAR(norm / torch::nn::utils::clip_grad_norm_(torchs.model->parameters(), most), 1.0, 1e-6);
    for (const Slice& slice : ours.parameters.slices()) {
      EXPECT_TRUE(close(slice.parameter.grad(), slice.of(torchs.parameters.gradients()), kRounding)) << slice.name;
    }
  }
}

TEST(Clipping, EachTensorIsBoundedByItself) {
  Gradients clipped;
  const Gradients before;
  const double norm = train::clip_gradients(clipped.parameters, 0.0, 0.5).item<double>();
  EXPECT_NEAR(norm, before.parameters.gradients().norm().item<double>(), 1e-5 * norm);
  for (const Slice& slice : clipped.parameters.slices()) {
    const at::Tensor gradient = slice.of(before.parameters.gradients());
    const double own = gradient.norm().item<double>();
    const at::Tensor expected = own > 0.5 ? gradient * (0.5 / (own + 1e-6)) : gradient;
    EXPECT_TRUE(close(slice.parameter.grad(), expected, kRounding)) << slice.name;
  }
}

TEST(Clipping, BothBoundsHoldTogether) {
  Gradients gradients;
  train::clip_gradients(gradients.parameters, 0.2, 0.15);
  EXPECT_NEAR(gradients.parameters.gradients().norm().item<double>(), 0.2, 1e-5);
}

TEST(Clipping, OnADeviceWithoutKernelsOfOursItIsTheSame) {
  for (const auto& [all, each] : {std::pair{0.1, 0.0}, {0.0, 0.5}, {0.2, 0.15}, {100.0, 100.0}, {0.0, 0.0}}) {
    Gradients fused;
    Gradients plain;
    const double norm = train::clip_gradients(fused.parameters, all, each).item<double>();
    EXPECT_NEAR(train::plain::clip_gradients(plain.parameters, Share(plain.parameters), all, each).item<double>(), norm,
                1e-5 * norm);
    EXPECT_TRUE(close(plain.parameters.gradients(), fused.parameters.gradients(), kRounding)) << all << " " << each;
  }
  Gradients poisoned;
  poisoned.model->named_parameters()["3.bias"].mutable_grad()[1] = INFINITY;
  const at::Tensor before = poisoned.parameters.gradients().clone();
  EXPECT_FALSE(std::isfinite(
      train::plain::clip_gradients(poisoned.parameters, Share(poisoned.parameters), 1.0, 1.0).item<double>()));
  EXPECT_TRUE(identical(poisoned.parameters.gradients(), before));
}

TEST(Clipping, NonFiniteGradientsAreReportedAndLeft) {
  for (const float poison : {std::nanf(""), INFINITY}) {
    Gradients gradients;
    const at::Tensor bias = gradients.model->named_parameters()["3.bias"].grad();
    bias[1] = poison;
    const at::Tensor before = gradients.parameters.gradients().clone();
    EXPECT_FALSE(std::isfinite(train::clip_gradients(gradients.parameters, 1.0, 1.0).item<double>()));
    EXPECT_TRUE(identical(gradients.parameters.gradients(), before));
  }
}

}  // namespace
}  // namespace quest::testing
