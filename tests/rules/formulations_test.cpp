#include <gtest/gtest.h>
#include <torch/torch.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "ops/rules/text.h"
#include "quest/formulation.h"
#include "quest/nn/attention.h"
#include "tests/rules/table.h"

namespace quest::testing {
namespace {

using nlohmann::json;

const std::map<GainAxes, std::string> kAxes = {{GainAxes::none, "none"},
                                               {GainAxes::head, "head"},
                                               {GainAxes::dim, "dim"},
                                               {GainAxes::head_and_dim, "head_and_dim"}};

json switches_of(const Formulation& formulation) {
  return {{"name", formulation.name},
          {"normalize_q", formulation.normalize_q},
          {"normalize_k", formulation.normalize_k},
          {"divide_by_sqrt_dim", formulation.divide_by_sqrt_dim},
          {"gain_axes", kAxes.at(formulation.gain_axes)},
          {"gain_is_learned", formulation.gain_is_learned}};
}

TEST(Formulations, AreThoseOfTheTable) {
  const json table = testing::table("formulations.json");
  const auto all = all_formulations();
  ASSERT_EQ(all.size(), table.at("formulations").size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    json found = switches_of(all[i]);
    found["scale"] = all[i].default_scale(table.at("dim"));
    for (const auto& [key, value] : found.items()) EXPECT_EQ(value, table.at("formulations")[i].at(key)) << key;
  }
}

TEST(Formulations, AreToldToOtherLanguages) {
  const json told = json::parse(ops::rules_as_json()).at("formulations");
  ASSERT_EQ(told.size(), all_formulations().size());
  for (std::size_t i = 0; i < told.size(); ++i) EXPECT_EQ(told[i], switches_of(all_formulations()[i]));
}

// The parameters that a layer adds to its projections.
std::map<std::string, at::Tensor> gains_of(const nn::Attention& layer) {
  std::map<std::string, at::Tensor> gains;
  for (const auto& parameter : layer->named_parameters()) {
    if (parameter.key().starts_with("quest_")) gains[parameter.key()] = parameter.value();
  }
  return gains;
}

TEST(LearnedGains, AreThoseOfTheTable) {
  const torch::NoGradGuard no_gradients;
  const json table = testing::table("formulations.json");
  const auto heads = table.at("heads").get<std::int64_t>();
  const auto dim = table.at("dim").get<std::int64_t>();
  for (const json& row : table.at("formulations")) {
    const Formulation& formulation = formulation_from_name(row.at("name").get<std::string>());
    nn::Attention layer(nn::AttentionOptions(heads * dim, heads).formulation(formulation));
    const auto gains = gains_of(layer);
    const json expected = row.value("parameters", json::object());
    ASSERT_EQ(gains.size(), expected.size()) << formulation.name;
    if (gains.empty()) continue;
    for (const auto& [name, parameter] : gains) {
      EXPECT_EQ(parameter.sizes().vec(), expected.at(name).at("shape").get<std::vector<std::int64_t>>()) << name;
      EXPECT_TRUE(parameter.equal(at::full_like(parameter, expected.at(name).at("start").get<double>()))) << name;
      parameter.fill_(7.0);
    }
    at::Tensor gain;
    layer->observe([&](const nn::AttentionProbe& probe) { gain = probe.options.gain; });
    (void)layer->forward(at::zeros({1, 2, heads * dim}));
    EXPECT_TRUE(gain.allclose(at::full({}, row.at("gain_where_parameters_are_7").get<float>()))) << formulation.name;
  }
}

TEST(LearnedGains, AreToldToOtherLanguages) {
  const json told = json::parse(ops::rules_as_json()).at("learned_gains");
  const json table = testing::table("formulations.json");
  for (const json& row : table.at("formulations")) {
    if (!row.contains("parameters")) continue;
    const auto rule = std::ranges::find(told, row.at("gain_axes"), [](const json& one) { return one.at("axes"); });
    ASSERT_NE(rule, told.end());
    const json& dims = table;
    const json shape = {rule->at("varies_by_head") ? dims.at("heads") : json(1),
                        rule->at("varies_by_dim") ? dims.at("dim") : json(1)};
    json parameters = json::object();
    for (const auto& name : rule->at("parameters")) {
      parameters[name.get<std::string>()] = {{"shape", shape}, {"start", rule->at("start")}};
    }
    EXPECT_EQ(parameters, row.at("parameters"));
  }
}

}  // namespace
}  // namespace quest::testing
