#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "ops/rules/explosion.h"
#include "tests/rules/table.h"

namespace quest::ops {
namespace {

using nlohmann::json;

// "nan", "inf" and "-inf" are words: JSON has no numbers for them.
double number(const json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

ExplosionOptions options_of(const json& one) {
  ExplosionOptions options;
  const json given = one.value("options", json::object());
  options.least_logit = given.value("least_logit", options.least_logit);
  options.factor = given.value("factor", options.factor);
  options.within_steps = given.value("within_steps", options.within_steps);
  return options;
}

json warnings_of(const json& one, const std::string& layer, double key_norm_per_logit) {
  ExplosionDetector detector(options_of(one));
  json warnings = json::array();
  for (std::size_t i = 0; i < one.at("max_logit").at(0).size(); ++i) {
    std::vector<double> max_logit;
    std::vector<double> key_norm;
    for (const json& head : one.at("max_logit")) {
      max_logit.push_back(number(head.at(i)));
      key_norm.push_back(key_norm_per_logit * max_logit.back());
    }
    const std::int64_t step = static_cast<std::int64_t>(i + 1) * one.at("every").get<std::int64_t>();
    for (const auto& warning : detector.add({step, layer, max_logit, key_norm})) {
      EXPECT_EQ(warning.now.step, step);
      warnings.push_back({{"step", step}, {"text", warning.text()}});
    }
  }
  return warnings;
}

TEST(Explosions, WarnAsInTheTable) {
  const json table = testing::table("explosions.json");
  for (const json& one : table.at("cases")) {
    EXPECT_EQ(warnings_of(one, table.at("layer"), table.at("key_norm_per_logit")), one.at("warnings"))
        << one.at("name");
  }
}

TEST(Explosions, LayersDoNotDisturbEachOther) {
  ExplosionDetector detector;
  const std::vector<double> small(1, 10.0);
  const std::vector<double> large(1, 80.0);
  for (std::int64_t step = 10; step <= 100; step += 10) {
    EXPECT_TRUE(detector.add({step, "a", small, small}).empty());
    EXPECT_TRUE(detector.add({step, "b", large, large}).empty());
  }
}

}  // namespace
}  // namespace quest::ops
