#include "ops/rules/learned_gain.h"

#include <array>
#include <cmath>

namespace quest::ops {
namespace {

constexpr double kFirstHeadGain = 10.0;
constexpr double kMostHeadGain = 100.0;

constexpr std::array<std::string_view, 1> kLogarithm = {"quest_log_gain"};
// The papers learn one vector for the queries and one for the keys.
constexpr std::array<std::string_view, 2> kTwoSides = {"quest_query_gain", "quest_key_gain"};

}  // namespace

std::span<const LearnedGain> learned_gains() {
  static const std::array gains = {
      LearnedGain{.axes = GainAxes::head,
                  .parameters = kLogarithm,
                  .varies_by_head = true,
                  .is_exponential = true,
                  .start = std::log(kFirstHeadGain),
                  .most = std::log(kMostHeadGain)},
      LearnedGain{.axes = GainAxes::dim, .parameters = kTwoSides, .varies_by_dim = true},
      LearnedGain{
          .axes = GainAxes::head_and_dim, .parameters = kTwoSides, .varies_by_head = true, .varies_by_dim = true},
  };
  return gains;
}

}  // namespace quest::ops
