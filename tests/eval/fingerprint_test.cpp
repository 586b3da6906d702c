#include "eval/fingerprint.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/eval/fixed_classifier.h"

namespace quest::eval {
namespace {

// Of a model with one parameter of those values.
std::uint64_t of_parameter(const std::string& name, const at::Tensor& value, const std::string& text = "") {
  torch::nn::Module model;
  model.register_parameter(name, value, false);
  return fingerprint(model, text);
}

TEST(Fingerprint, IsTheSameForTheSame) {
  EXPECT_EQ(of_parameter("w", torch::arange(7.0)), of_parameter("w", torch::arange(7.0)));
  const auto strided = torch::arange(14.0).view({7, 2}).select(1, 0) * 0.5;
  EXPECT_EQ(of_parameter("w", torch::arange(14.0).view({7, 2}).select(1, 0)), of_parameter("w", 2 * strided))
      << "how it lies in memory does not count";
  const auto nan = torch::full({3}, std::nan(""));
  EXPECT_EQ(of_parameter("w", nan), of_parameter("w", nan.clone()));
}

TEST(Fingerprint, TellsWhateverDiffers) {
  const auto values = torch::arange(7.0, at::kFloat);
  const auto base = of_parameter("w", values);
  for (std::int64_t i = 0; i < values.size(0); ++i) {
    auto next = values.clone();
    next[i] = std::nextafter(values[i].item<float>(), 100.0F);
    EXPECT_NE(of_parameter("w", next), base) << "element " << i << " by one unit in its last place";
  }
  EXPECT_NE(of_parameter("v", values), base) << "name";
  EXPECT_NE(of_parameter("w", values, "x"), base) << "text";
  EXPECT_NE(of_parameter("w", values.view({7, 1})), base) << "shape";
  EXPECT_NE(of_parameter("w", values.to(at::kDouble)), base) << "type";
  EXPECT_NE(of_parameter("w", torch::zeros({1})), of_parameter("w", -torch::zeros({1}))) << "sign of zero";
  EXPECT_NE(of_parameter("w", torch::zeros({3}, at::kByte)), of_parameter("w", torch::zeros({4}, at::kByte)))
      << "bytes that fill no word";
}

TEST(Fingerprint, LooksAtBuffersAndAtTheOrderOfElements) {
  testing::ScaleModel model;
  const auto before = fingerprint(*model, "");
  model->offset.fill_(1.0);
  EXPECT_NE(fingerprint(*model, ""), before);
  EXPECT_NE(of_parameter("w", torch::tensor({1.0, 2.0})), of_parameter("w", torch::tensor({2.0, 1.0})));
}

}  // namespace
}  // namespace quest::eval
