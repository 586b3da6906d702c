#include "train/distributed/launch_environment.h"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>

namespace quest::testing {
namespace {

using Variables = std::map<std::string, std::string>;

train::LaunchEnvironment launched(const Variables& variables) {
  return train::launch_environment([&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

std::string refusal(const Variables& variables) {
  try {
    launched(variables);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "accepted";
}

const Variables kSecondOfFour{{"RANK", "1"}, {"WORLD_SIZE", "4"}, {"MASTER_ADDR", "node7"}, {"MASTER_PORT", "29500"}};

Variables with(const std::string& name, const std::string& value) {
  Variables changed = kSecondOfFour;
  changed.insert_or_assign(name, value);
  return changed;
}

TEST(LaunchEnvironment, OneProcessNeedsNoVariable) {
  EXPECT_EQ(launched({}).size, 1);
  EXPECT_EQ(launched({{"WORLD_SIZE", "1"}}).size, 1);
  EXPECT_EQ(launched({{"RANK", "3"}}).rank, 0);
}

TEST(LaunchEnvironment, ReadsWhatLaunchersSet) {
  const auto launch = launched(kSecondOfFour);
  EXPECT_EQ(launch.rank, 1);
  EXPECT_EQ(launch.size, 4);
  EXPECT_EQ(launch.master_address, "node7");
  EXPECT_EQ(launch.master_port, 29500);
  EXPECT_FALSE(launch.launcher_keeps_store);
}

TEST(LaunchEnvironment, TorchrunKeepsTheStore) {
  Variables variables = with("TORCHELASTIC_USE_AGENT_STORE", "True");
  variables.emplace("TORCHELASTIC_RESTART_COUNT", "2");
  EXPECT_TRUE(launched(variables).launcher_keeps_store);
  EXPECT_EQ(launched(variables).store_prefix, "/worker/attempt_2");
  EXPECT_FALSE(launched(with("TORCHELASTIC_USE_AGENT_STORE", "False")).launcher_keeps_store);
}

TEST(LaunchEnvironment, TheOwnAddressIsThatOnTheWayToAnotherHost) {
  EXPECT_EQ(train::address_towards("127.0.0.1", 29500), "127.0.0.1");
  EXPECT_EQ(train::address_towards("", 29500), "") << "no host";
}

TEST(LaunchEnvironment, MistakesNameTheVariable) {
  EXPECT_EQ(refusal(with("RANK", "4")), "RANK must be a whole number from 0 to 3, is '4'");
  EXPECT_EQ(refusal(with("WORLD_SIZE", "two")), "WORLD_SIZE must be a whole number from 1 to 1048576, is 'two'");
  EXPECT_EQ(refusal(with("MASTER_PORT", "70000")), "MASTER_PORT must be a whole number from 1 to 65535, is '70000'");
  EXPECT_EQ(refusal(with("MASTER_ADDR", "")),
            "WORLD_SIZE is set but MASTER_ADDR is not; start every process by torchrun, or set RANK, WORLD_SIZE, "
            "MASTER_ADDR and MASTER_PORT");
}

}  // namespace
}  // namespace quest::testing
