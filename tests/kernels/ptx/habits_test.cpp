// The interpreter finds what it is for, and nothing in kernels that are right.

#include "tests/kernels/ptx/habits.h"

#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "tools/ptx/memory.h"

namespace quest::testing::ptx {
namespace {

class Habits : public ::testing::TestWithParam<Habit> {};

TEST_P(Habits, AreTold) {
  std::array<float, 96> data;
  std::iota(data.begin(), data.end(), 1.0F);
  const Shown shown(data.data(), sizeof data);
  std::string fault;
  try {
    GetParam().launch(data.data());
  } catch (const Fault& found) {
    fault = found.what();
  }
  const std::string expected = GetParam().fault;
  EXPECT_EQ(fault.empty(), expected.empty()) << fault;
  EXPECT_NE(fault.find(expected), std::string::npos) << fault;
}

std::string habit_name(const ::testing::TestParamInfo<Habit>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(All, Habits, ::testing::ValuesIn(habits()), habit_name);

TEST(Lanes, PartAndMeet) {
  std::array<float, 96> data;
  std::iota(data.begin(), data.end(), 1.0F);
  const Shown shown(data.data(), sizeof data);
  std::array<float, 96> expected{};
  for (int i = 0; i < 96; ++i) {
    const float value = static_cast<float>(1 + i + i % 5);
    for (int lane = i / 32 * 32; lane < i / 32 * 32 + 32; ++lane)
      expected[static_cast<std::size_t>(lane)] += i % 3 == 0 ? -value : value;
  }
  habits().back().launch(data.data());
  EXPECT_EQ(data, expected);
}

}  // namespace
}  // namespace quest::testing::ptx
