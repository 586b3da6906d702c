#pragma once

// How fast a recipe's samples are loaded, stage by stage, beside decoding alone and beside Pillow.

#include <functional>
#include <string>

#include "app/task_recipe.h"
#include "bench/data_rates.h"

namespace quest::bench {

struct DataPlan {
  int threads = 1;
  double seconds = 2.0;  // of each measurement
  std::string python;
};

// on_progress receives the fraction done.
[[nodiscard]] DataRates measure_data(const app::TaskRecipe& recipe, const DataPlan& plan,
                                     const std::function<void(double)>& on_progress);

}  // namespace quest::bench
