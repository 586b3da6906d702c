// Draws for different purposes must not share numbers.

#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <string>

#include "base/random.h"
#include "tests/testing/temporary_folder.h"

namespace quest::base {
namespace {

TEST(RandomPurposes, HaveDistinctNames) {
  const std::string header = testing::text_of(std::filesystem::path(QUEST_SOURCE_FOLDER) / "src/base/random.h");
  const std::regex purpose(R"(inline constexpr std::uint64_t (k\w+) = (\d+);)");
  std::map<std::string, std::string> owner;
  for (std::sregex_iterator match(header.begin(), header.end(), purpose), end; match != end; ++match) {
    const auto [other, is_new] = owner.emplace((*match)[2], (*match)[1]);
    EXPECT_TRUE(is_new) << (*match)[1] << " and " << other->second << " are both " << (*match)[2];
  }
  EXPECT_GE(owner.size(), 4U) << "purposes are no longer declared as this test reads them";
}

TEST(RandomPurposes, GiveOtherNumbersForTheSameSeed) {
  std::map<std::uint64_t, std::uint64_t> owner;
  for (const auto purpose : {kDropout, kBatchOrder, kValidationSplit, kAugmentation}) {
    for (std::uint64_t name = 0; name < 100; ++name) {
      EXPECT_TRUE(owner.emplace(Random(1, {purpose, name}).bits(), purpose).second) << purpose << " " << name;
    }
  }
}

}  // namespace
}  // namespace quest::base
