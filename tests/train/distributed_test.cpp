// Several processes end with the weights of one, and do not wait for the dead.

#include <gtest/gtest.h>

#include <csignal>
#include <tuple>

#include "tests/testing/closeness.h"
#include "tests/train/workers.h"

namespace quest::testing {
namespace {

using std::chrono::seconds;

std::vector<double> trained_weights(int processes, const std::vector<std::string>& arguments) {
  Workers workers(processes, arguments);
  for (int rank = 0; rank < processes; ++rank) {
    EXPECT_EQ(workers.status(rank, seconds(60)), 0) << "rank " << rank << ": " << workers.messages(rank);
    EXPECT_EQ(workers.messages(rank), "") << "rank " << rank;
  }
  return workers.weights();
}

void expect_same_weights(const std::vector<double>& actual, const std::vector<double>& expected) {
  ASSERT_FALSE(expected.empty());
  EXPECT_TRUE(all_close(actual, expected, {.absolute = 1e-6}, {static_cast<std::int64_t>(expected.size())}));
}

TEST(Distributed, TwoAndFourProcessesEndWithTheWeightsOfOne) {
  const std::vector<double> one = trained_weights(1, {"20", "1"});
  // Whole parameters in one bucket, and buckets of a few bytes.
  expect_same_weights(trained_weights(2, {"20", "1"}), one);
  expect_same_weights(trained_weights(4, {"20", "1", "100"}), one);
}

TEST(Distributed, AccumulatedGradientsAreAveragedOnce) {
  expect_same_weights(trained_weights(2, {"10", "3", "100"}), trained_weights(1, {"10", "1"}));
}

class SharedBy : public ::testing::TestWithParam<std::tuple<int, std::string>> {};

INSTANTIATE_TEST_SUITE_P(Processes, SharedBy,
                         ::testing::Combine(::testing::Values(2, 4), ::testing::Values("adamw", "lamb")),
                         [](const auto& test) {
                           return std::get<1>(test.param) + "Of" + std::to_string(std::get<0>(test.param));
                         });

TEST_P(SharedBy, TheStateOfTheOptimiserLeadsToTheWeightsOfOne) {
  const auto& [processes, optimizer] = GetParam();
  const std::vector<double> one = trained_weights(1, {"20", "1", "100", optimizer});
  const std::vector<double> several = trained_weights(processes, {"20", "1", "100", optimizer, "shard"});
  ASSERT_GE(several.size(), one.size()) << "the buffer may end with zeros";
  expect_same_weights({several.begin(), several.begin() + static_cast<std::ptrdiff_t>(one.size())}, one);
}

class KilledRank : public ::testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Of3, KilledRank, ::testing::Values(0, 2));

TEST_P(KilledRank, EndsTheOthersWithAnErrorThatNamesIt) {
  Workers workers(3, {"1000000000", "1"});
  for (int rank = 0; rank < 3; ++rank) workers.wait_until_ready(rank);
  workers.send(GetParam(), SIGKILL);
  const std::string expected = "rank " + std::to_string(GetParam()) + " of 3 is gone";
  for (int rank = 0; rank < 3; ++rank) {
    if (rank == GetParam()) continue;
    EXPECT_EQ(workers.status(rank, seconds(60)), 1) << "rank " << rank;
    EXPECT_NE(workers.messages(rank).find(expected), std::string::npos)
        << "rank " << rank << ": " << workers.messages(rank);
  }
}

}  // namespace
}  // namespace quest::testing
