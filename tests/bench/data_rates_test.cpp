#include "bench/data_rates.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "terminal/table.h"

namespace quest::bench {
namespace {

DataRates rates() {
  DataRates rates{.threads = 4};
  rates.stages = {{"read", 3000, 11000}, {"decode", 1000, 3900}};
  rates.load = {"load", 740, 2800};
  rates.decode.emplace("decode", 1100, 4200);
  rates.pillow = {{"decoding", 900, 3500}};
  return rates;
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
  DataRates without_pillow = rates();
  without_pillow.decode.reset();
  without_pillow.pillow.clear();
  without_pillow.pillow_problem = "none here";
  const auto bare = nlohmann::json::parse(data_json(without_pillow));
  EXPECT_EQ(bare["pillow_missing"], "none here");
  EXPECT_FALSE(bare.contains("decode_alone"));
}

}  // namespace
}  // namespace quest::bench
