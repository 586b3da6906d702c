#pragma once

// A few graphs of the test split, each node in the colour of the class that the model takes it for.

#include <memory>

#include "eval/evaluation.h"

namespace quest::graphs {

[[nodiscard]] std::unique_ptr<eval::Evaluation> graph_drawing();

}  // namespace quest::graphs
