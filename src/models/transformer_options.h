#pragma once

// The keys that every task with a transformer has.

#include <cstdint>
#include <string>

#include "recipe/fields.h"

namespace quest::models {

struct TransformerOptions {
  std::string formulation = "quest";
  std::int64_t dim = 0;
  std::int64_t depth = 0;
  std::int64_t heads = 0;
};

void describe(recipe::Fields& fields, TransformerOptions& options);

}  // namespace quest::models
