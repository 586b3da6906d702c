#include "domains/toy/outcome.h"

#include <utility>

namespace quest::toy {
namespace {

constexpr double kCorrectAbove = 0.9;
constexpr std::pair kBiasedTrain = {0.5, 0.8};
constexpr std::pair kBiasedTest = {0.2, 0.45};
constexpr double kDegenerateUpTo = 0.2;  // chance is 0.1

bool within(double value, std::pair<double, double> range) { return value >= range.first && value <= range.second; }

}  // namespace

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::correct:
      return "correct";
    case Outcome::biased:
      return "biased";
    case Outcome::degenerate:
      return "degenerate";
    case Outcome::other:
      break;
  }
  return "other";
}

std::string_view outcome_meaning(Outcome outcome) {
  switch (outcome) {
    case Outcome::correct:
      return "train and test accuracy above 90 %";
    case Outcome::biased:
      return "train accuracy 50 to 80 %, test accuracy 20 to 45 %";
    case Outcome::degenerate:
      return "train and test accuracy at most 20 %, near the 10 % of chance";
    case Outcome::other:
      break;
  }
  return "everything else";
}

Outcome outcome_of(double train_accuracy, double test_accuracy) {
  if (train_accuracy > kCorrectAbove && test_accuracy > kCorrectAbove) return Outcome::correct;
  if (within(train_accuracy, kBiasedTrain) && within(test_accuracy, kBiasedTest)) return Outcome::biased;
  if (train_accuracy <= kDegenerateUpTo && test_accuracy <= kDegenerateUpTo) return Outcome::degenerate;
  return Outcome::other;
}

}  // namespace quest::toy
