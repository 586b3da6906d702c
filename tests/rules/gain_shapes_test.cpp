#include <c10/util/Exception.h>
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <vector>

#include "quest/attention.h"
#include "tests/rules/table.h"

namespace quest::testing {
namespace {

using nlohmann::json;

at::Tensor numbers(const json& shape) {
  if (shape.is_null()) return {};
  const auto sizes = shape.get<std::vector<std::int64_t>>();
  return at::arange(1, 1 + c10::multiply_integers(sizes), at::kFloat).reshape(sizes);
}

TEST(GainShapes, AreReadAsInTheTable) {
  torch::manual_seed(1);
  for (const json& one : table("gain_shapes.json").at("cases")) {
    const at::Tensor x = at::randn({1, one.at("heads"), 6, one.at("dim")});
    const auto attend = [&](const at::Tensor& gain) {
      AttentionOptions options{.formulation = formulation_from_name(one.at("formulation").get<std::string>())};
      options.gain = gain;
      return attention(x, x, x, options);
    };
    const at::Tensor gain = numbers(one.at("shape"));
    if (one.at("as").is_null()) {
      EXPECT_THROW((void)attend(gain), c10::Error) << one;
    } else {
      EXPECT_TRUE(attend(gain).equal(attend(gain.reshape(one.at("as").get<std::vector<std::int64_t>>())))) << one;
    }
  }
}

}  // namespace
}  // namespace quest::testing
