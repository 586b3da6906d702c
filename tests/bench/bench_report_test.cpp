#include "bench/bench_report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

namespace quest::bench {
namespace {

std::vector<BenchRow> rows() {
  auto small = parse_named_shape("small=1,2,100,50");
  auto large = parse_named_shape("large=1,2,200,50,causal");
  return {{small, Pass::forward, 1.0, 2.0, 4.0, 0.01},
          {small, Pass::forward_backward, 2.0, 2.0, 3.0, 0.01},
          {large, Pass::forward, 1.0, 8.0, 9.0, 0.5},
          {large, Pass::forward_backward, 4.0, 4.0, 24.0, 0.01}};
}

TEST(BenchReport, JsonHasExactlyTheDocumentedKeys) {
  const auto json = nlohmann::json::parse(bench_json(rows()));
  ASSERT_EQ(json.size(), 4U);
  const std::set<std::string> expected = {"shape", "pass", "ours_ms", "torch_standard_ms", "torch_quest_ms"};
  for (const auto& object : json) {
    std::set<std::string> keys;
    for (const auto& [key, value] : object.items()) keys.insert(key);
    EXPECT_EQ(keys, expected);
  }
  EXPECT_EQ(json[3]["shape"], "large");
  EXPECT_EQ(json[3]["pass"], "forward+backward");
  EXPECT_DOUBLE_EQ(json[3]["torch_quest_ms"], 24.0);
  EXPECT_EQ(json[0]["pass"], "forward");
}

TEST(BenchReport, TableShowsTimesRatesAndRatios) {
  const auto table = bench_table(rows(), terminal::TableStyle::markdown);
  // 4 * 2 * 100 * 100 * 50 operations in 1 ms, 2 ms, 4 ms.
  EXPECT_NE(table.find("| small | 1,2,100,50 | fwd | 1.00 | 2.00 | 4.00 | 4.00 | 2.00 | 1.00 | 2.00x | 4.00x |"),
            std::string::npos)
      << table;
}

TEST(BenchReport, GeometricMeansArePerPass) {
  const auto table = bench_table(rows(), terminal::TableStyle::markdown);
  EXPECT_NE(table.find("| geometric mean |  | fwd |  |  |  |  |  |  | 4.00x | 6.00x |"), std::string::npos) << table;
  EXPECT_NE(table.find("| geometric mean |  | fwd+bwd |  |  |  |  |  |  | 1.00x | 3.00x |"), std::string::npos)
      << table;
}

TEST(BenchReport, NoiseIsNamedRowByRow) {
  const auto warning = noise_warning(rows());
  EXPECT_NE(warning.find("for large forward."), std::string::npos) << warning;
  EXPECT_EQ(noise_warning(std::vector<BenchRow>{rows().front()}), "");
}

}  // namespace
}  // namespace quest::bench
