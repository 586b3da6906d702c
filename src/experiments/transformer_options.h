#pragma once

// The keys that every task with a transformer has.

#include <cstdint>
#include <string>

#include "train/fields.h"

namespace quest::experiments {

struct TransformerOptions {
  std::string formulation = "quest";
  std::int64_t dim = 0;
  std::int64_t depth = 0;
  std::int64_t heads = 0;
};

void describe(train::Fields& fields, TransformerOptions& options);

}  // namespace quest::experiments
