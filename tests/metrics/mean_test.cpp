#include "metrics/mean.h"

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>
#include <limits>

#include "tests/metrics/joined.h"

namespace quest::metrics {
namespace {

TEST(Mean, IsTheSumOverTheCountOfAllThatWasAdded) {
  torch::manual_seed(1);
  const auto values = torch::randn({50}, at::kDouble);
  Mean mean;
  double sum = 0;
  for (std::int64_t i = 0; i < 50; ++i) {
    const double value = values[i].item<double>();
    mean.add(value, 1.0);
    sum += value;
  }
  EXPECT_EQ(mean.value(), sum / 50.0);
}

TEST(Mean, WeighsWhatItAdds) {
  Mean mean;
  mean.add(6.0, 3.0);
  mean.add(0.5, 0.5);
  mean.add(0.0, 0.0);
  EXPECT_EQ(mean.value(), 6.5 / 3.5);
}

TEST(Mean, OfNothingIsNaN) { EXPECT_TRUE(std::isnan(Mean().value())); }

TEST(Mean, KeepsWhatIsNotFinite) {
  Mean mean;
  mean.add(std::numeric_limits<double>::quiet_NaN(), 1.0);
  mean.add(1.0, 1.0);
  EXPECT_TRUE(std::isnan(mean.value()));
}

TEST(Mean, ItsStateComesBackExactly) {
  Mean mean;
  mean.add(0.1, 3.0);
  Mean copy;
  copy.set_state(mean.state());
  mean.add(1.0, 1.0);
  EXPECT_EQ(copy.value(), 0.1 / 3.0);
  EXPECT_EQ(copy.state().scalar_type(), at::kDouble);
  EXPECT_EQ(copy.join(), Metric::Join::sums);
}

TEST(Mean, Joins) {
  torch::manual_seed(2);
  const auto values = torch::randn({43}, at::kDouble);
  const auto [whole, joined] = testing::whole_and_joined(
      43, [] { return std::make_unique<Mean>(); },
      [&](Mean& mean, std::int64_t first, std::int64_t last) {
        const auto part = values.slice(0, first, last);
        mean.add(part.sum().item<double>(), static_cast<double>(part.numel()));
      });
  EXPECT_NEAR(whole, joined, 1e-15);
}

}  // namespace
}  // namespace quest::metrics
