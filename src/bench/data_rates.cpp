#include "bench/data_rates.h"

#include <nlohmann/json.hpp>

#include "terminal/table.h"

namespace quest::bench {
namespace {

nlohmann::ordered_json json_of(const DataRate& rate) {
  return {{"one_thread", rate.one_thread}, {"all_threads", rate.all_threads}};
}

}  // namespace

base::Table data_table(const DataRates& rates) {
  const bool has_more = rates.threads > 1;
  base::Table table{.columns = {{"samples per second", base::Align::left}, "1 thread"}};
  if (has_more) table.columns.emplace_back(std::to_string(rates.threads) + " threads");
  table.columns.emplace_back("share of time");
  double seconds = 0.0;
  for (const auto& stage : rates.stages) seconds += 1.0 / stage.one_thread;
  const auto add = [&](const std::string& name, const DataRate& rate, const std::string& share) {
    std::vector<base::Cell> cells = {name, terminal::three_digits(rate.one_thread)};
    if (has_more) cells.emplace_back(terminal::three_digits(rate.all_threads));
    cells.emplace_back(share);
    table.add_row(std::move(cells));
  };
  for (const auto& stage : rates.stages) {
    add(stage.name, stage, terminal::fixed(100.0 / stage.one_thread / seconds, 0) + " %");
  }
  if (!rates.stages.empty()) table.add_rule();
  add("loading, all of it", rates.load, "");
  if (rates.decode) add("decoding alone, from memory", *rates.decode, "");
  for (const auto& pillow : rates.pillow) add("Pillow: " + pillow.name, pillow, "");
  return table;
}

std::string data_json(const DataRates& rates) {
  nlohmann::ordered_json json = {{"threads", rates.threads}, {"load", json_of(rates.load)}};
  if (rates.decode) json["decode_alone"] = json_of(*rates.decode);
  for (const auto& stage : rates.stages) json["stages"][stage.name] = json_of(stage);
  for (const auto& pillow : rates.pillow) json["pillow"][pillow.name] = json_of(pillow);
  if (!rates.pillow_problem.empty()) json["pillow_missing"] = rates.pillow_problem;
  return json.dump(2);
}

}  // namespace quest::bench
