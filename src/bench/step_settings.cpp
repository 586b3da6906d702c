#include "bench/step_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "bench/step_loop.h"
#include "recipe/settings.h"

namespace quest::bench {
namespace {

using Json = nlohmann::ordered_json;

struct ToJson {
  Json operator()(bool flag) const { return flag; }
  Json operator()(std::int64_t integer) const { return integer; }
  Json operator()(double number) const { return number; }
  Json operator()(const std::string& text) const { return text; }
  Json operator()(const recipe::Word& word) const { return word.text; }
  Json operator()(const recipe::List& list) const {
    auto items = Json::array();
    for (const auto& item : list) items.push_back(std::visit(*this, item));
    return items;
  }
};

}  // namespace

nlohmann::ordered_json settings_json(const recipe::Fields& fields) {
  Json settings = Json::object();
  for (const auto& [key, value, place] : recipe::settings_of_toml(fields.toml(), "the recipe")) {
    std::string path = "/" + key;
    std::ranges::replace(path, '.', '/');
    settings[Json::json_pointer(path)] = std::visit(ToJson{}, value);
  }
  return settings;
}

std::string loop_settings(const recipe::Fields& fields, const LoopFacts& facts) {
  auto settings = settings_json(fields);
  const auto add = [&settings](const std::string& name, Json value) {
    if (settings.contains(name)) throw std::logic_error("a Python loop was to be told \"" + name + "\" twice");
    settings[name] = std::move(value);
  };
  add("device", facts.device);
  add("threads", facts.threads);
  add("batch", settings.at("train").at("batch_size"));
  for (const auto& [name, json] : facts.of_task) add(name, Json::parse(json));
  return settings.dump();
}

std::string with_step_loop(std::string_view program) {
  return "import sys, types\nmodule = types.ModuleType('step_loop')\nexec(" + Json(std::string(kStepLoop)).dump() +
         ", module.__dict__)\nsys.modules['step_loop'] = module\n" + std::string(program);
}

}  // namespace quest::bench
