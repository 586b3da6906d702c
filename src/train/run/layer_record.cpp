#include "train/run/layer_record.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/json_number.h"

namespace quest::train {
namespace {

using Json = nlohmann::ordered_json;

template <class Values>
Json short_numbers(const Values& values) {
  Json array = Json::array();
  for (const double value : values) array.push_back(base::short_number(value));
  return array;
}

void check_heads(const char* name, std::size_t heads, const LayerRecord& record) {
  if (heads == record.heads()) return;
  throw std::invalid_argument(std::string(name) + " has " + std::to_string(heads) + " heads where max_logit has " +
                              std::to_string(record.heads()));
}

}  // namespace

Json to_json(const LayerRecord& record) {
  Json line = {{"step", record.step}, {"layer", record.layer}};
  for (const auto& [name, figure] : kHeadFigures) line[name] = short_numbers(record.*figure);
  for (const auto& [name, figure] : kNormFigures) {
    Json& heads = line[name] = Json::array();
    for (const NormQuantiles& quantiles : record.*figure) heads.push_back(short_numbers(quantiles));
  }
  return line;
}

LayerRecord layer_record_from_json(const nlohmann::ordered_json& line) {
  LayerRecord record{.step = line.at("step").get<std::int64_t>(), .layer = line.at("layer").get<std::string>()};
  for (const auto& [name, figure] : kHeadFigures) {
    for (const auto& value : line.at(name)) (record.*figure).push_back(base::number_or_nan(value));
    check_heads(name, (record.*figure).size(), record);
  }
  for (const auto& [name, figure] : kNormFigures) {
    for (const auto& head : line.at(name)) {
      NormQuantiles& quantiles = (record.*figure).emplace_back();
      for (std::size_t i = 0; i < quantiles.size(); ++i) quantiles.at(i) = base::number_or_nan(head.at(i));
    }
    check_heads(name, (record.*figure).size(), record);
  }
  return record;
}

}  // namespace quest::train
