#include "bench/data_rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "terminal/table.h"

namespace quest::bench {
namespace {

DataRates rates() {
  return {.threads = 4,
          .stages = {{"read", 3000, 11000}, {"decode", 1000, 3900}},
          .load = {"load", 740, 2800},
          .decode = DataRate{"decode", 1100, 4200},
          .pillow = {{"decoding", 900, 3500}}};
}

TEST(DataRates, SayWhichShareAStageHas) {
  const auto text = terminal::text_of(data_table(rates()));
  EXPECT_NE(text.find("4 threads"), std::string::npos) << text;
  EXPECT_NE(text.find("25 %"), std::string::npos) << text;  // 1/3000 of 1/3000 + 1/1000
  EXPECT_NE(text.find("75 %"), std::string::npos) << text;
  EXPECT_NE(text.find("Pillow: decoding"), std::string::npos) << text;
  auto alone = rates();
  alone.threads = 1;
  EXPECT_EQ(terminal::text_of(data_table(alone)).find("threads"), std::string::npos);
}

TEST(DataRates, AreWrittenAsJson) {
  const auto json = nlohmann::json::parse(data_json(rates()));
  EXPECT_EQ(json["load"]["all_threads"], 2800);
  EXPECT_EQ(json["stages"]["decode"]["one_thread"], 1000);
  EXPECT_EQ(json["decode_alone"]["one_thread"], 1100);
  EXPECT_EQ(json["pillow"]["decoding"]["all_threads"], 3500);
  EXPECT_FALSE(json.contains("pillow_missing"));
  const auto bare = nlohmann::json::parse(data_json({.load = {"load", 1, 1}, .pillow_problem = "none here"}));
  EXPECT_EQ(bare["pillow_missing"], "none here");
  EXPECT_FALSE(bare.contains("decode_alone"));
}

}  // namespace
}  // namespace quest::bench
