#include "metrics/metrics.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "metrics/accuracy.h"
#include "metrics/mean.h"

namespace quest::metrics {
namespace {

TEST(Metrics, MakesEachOnceInTheOrderOfFirstUse) {
  Metrics metrics;
  metrics.get<Mean>("loss").add(3.0, 2.0);
  metrics.get<Accuracy>("accuracy", 5);
  metrics.get<Mean>("loss").add(3.0, 1.0);
  ASSERT_EQ(metrics.entries().size(), 2U);
  EXPECT_EQ(metrics.entries()[0].name, "loss");
  EXPECT_EQ(metrics.values().at("loss"), 2.0);
  EXPECT_TRUE(std::isnan(metrics.values().at("accuracy")));
}

TEST(Metrics, RefusesOneNameForTwoKinds) {
  Metrics metrics;
  metrics.get<Mean>("loss");
  EXPECT_THROW((void)metrics.get<Accuracy>("loss"), std::logic_error);
}

}  // namespace
}  // namespace quest::metrics
