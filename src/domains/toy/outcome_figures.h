#pragma once

// How the trainings of the spurious-attention experiment ended.

#include <span>

#include "domains/toy/findings.h"
#include "report/charts/figure.h"

namespace quest::toy {

// Which share of every kind had which outcome.
[[nodiscard]] report::Figure outcome_figure(std::span<const Kind> kinds);
// Success over learning rate and weight decay.
[[nodiscard]] report::Figure success_figure(std::span<const Kind> kinds);
[[nodiscard]] report::Figure train_accuracy_figure(std::span<const Kind> kinds);
[[nodiscard]] report::Figure test_accuracy_figure(std::span<const Kind> kinds);

}  // namespace quest::toy
