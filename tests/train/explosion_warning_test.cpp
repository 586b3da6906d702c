#include "train/run/explosion_warning.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace quest::train {
namespace {

// When it warns is tested in tests/rules.
TEST(ExplosionWarning, ReadsTheRecordsOfARun) {
  LayerExplosionDetector detector;
  std::vector<std::string> texts;
  std::int64_t step = 0;
  for (const double logit : {20.0, 20.0, 20.0, 20.0, 50.0, 52.0}) {
    const LayerRecord record{
        .step = step += 10, .layer = "blocks.3.attn", .max_logit = {5.0, logit}, .key_norm = {1.0, 0.5 * logit}};
    for (const ExplosionWarning& warning : detector.add(record)) texts.push_back(warning.text());
  }
  EXPECT_EQ(texts, std::vector<std::string>{"layer blocks.3.attn head 1: max logit doubled in 40 steps (20.0 → 52.0), "
                                            "key norm 10.0 → 26.0"});
}

}  // namespace
}  // namespace quest::train
