#include "kernels/sweep/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace quest::kernels::sweep {
namespace {

TEST(SweepParameters, NormsStartWithFactorsOfOneAndNoOffsets) {
  constexpr int kTokens = 7;
  const auto parameters = initial_parameters(kTokens, 1, 0);
  const Layout at(kTokens);
  for (const int norm : {at.norm1, at.norm2, at.final_norm}) {
    EXPECT_EQ(std::ranges::count(std::span(parameters).subspan(norm, kWidth), 1.0F), kWidth);
    EXPECT_EQ(std::ranges::count(std::span(parameters).subspan(norm + kWidth, kWidth), 0.0F), kWidth);
  }
}

}  // namespace
}  // namespace quest::kernels::sweep
