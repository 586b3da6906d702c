#pragma once

#include <span>
#include <string>

#include "report/training_read.h"

namespace quest::report {

// The numbers of evaluations/*.json as a card: a row per metric and run, a column per evaluation. Empty where there are
// none.
[[nodiscard]] std::string evaluation_table(std::span<const NamedRun> runs);

}  // namespace quest::report
