#pragma once

// What a Python loop is told of the training that it takes the steps of.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "recipe/fields.h"

namespace quest::bench {

// A recipe's keys by section: {"seed": 0, "model": {"dim": 64}}.
[[nodiscard]] nlohmann::ordered_json settings_json(const recipe::Fields& fields);

// What the benchmark knows beside the recipe.
struct LoopFacts {
  std::string device;
  int threads = 1;
  std::vector<std::pair<std::string, std::string>> of_task{};  // name, JSON
};

// The recipe's keys, "device", "threads", "batch" (samples of a pass) and the task's facts. Throws std::logic_error for
// a fact that takes the place of something else.
[[nodiscard]] std::string loop_settings(const recipe::Fields& fields, const LoopFacts& facts);

// The program with the module `step_loop` at hand, which PyTorch loops share.
[[nodiscard]] std::string with_step_loop(std::string_view program);

}  // namespace quest::bench
