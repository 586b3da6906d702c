#include "domains/toy/engine/parameters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>

namespace quest::toy::engine {
namespace {

TEST(SweepParameters, NormsStartWithFactorsOfOneAndNoOffsets) {
  constexpr int kTokens = 7;
  const auto parameters = toy::engine::initial_parameters(kTokens, 1, 0);
  const toy::engine::Layout at(kTokens);
  for (const int norm : {at.norm1, at.norm2, at.final_norm}) {
    EXPECT_EQ(std::ranges::count(std::span(parameters).subspan(norm, toy::engine::kWidth), 1.0F), toy::engine::kWidth);
    EXPECT_EQ(std::ranges::count(std::span(parameters).subspan(norm + toy::engine::kWidth, toy::engine::kWidth), 0.0F),
              toy::engine::kWidth);
  }
}

}  // namespace
}  // namespace quest::toy::engine
