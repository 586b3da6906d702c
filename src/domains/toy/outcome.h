#pragma once

// What became of a training of the spurious-attention task, by the paper's rule.

#include <array>
#include <string_view>

namespace quest::toy {

enum class Outcome { correct, biased, degenerate, other };
inline constexpr std::array kOutcomes = {Outcome::correct, Outcome::biased, Outcome::degenerate, Outcome::other};

[[nodiscard]] std::string_view outcome_name(Outcome outcome);
// The rule behind outcome_of, in words.
[[nodiscard]] std::string_view outcome_meaning(Outcome outcome);
[[nodiscard]] Outcome outcome_of(double train_accuracy, double test_accuracy);

}  // namespace quest::toy
