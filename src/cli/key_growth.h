#pragma once

// The experiment behind `quest demo`: the norm of one key grows while nothing else changes.

#include <span>
#include <vector>

namespace quest::cli {

// One formulation at one norm, over all queries.
struct AttentionReading {
  double mass = 0.0;       // share of all attention that the growing key receives
  double entropy = 0.0;    // mean over queries, nats
  double max_logit = 0.0;  // largest of all
  double change = 0.0;     // ‖A - A_first‖ / ‖A_first‖ of the attention matrix, against the first norm
  std::vector<float> first_query;
};

struct KeyGrowth {
  double key_norm = 0.0;
  AttentionReading standard;
  AttentionReading quest;
};

// Every query has one key it matches; the growing key, the last, is no query's match. The other keys have norm √dim,
// at which standard attention and QUEST are the same function.
inline constexpr int kGrowthDim = 100;
inline constexpr int kGrowthKeys = 32;
inline constexpr int kGrowthQueries = kGrowthKeys - 1;
inline constexpr double kGrowthQueryNorm = 6.0;
inline constexpr double kGrowthMatchCosine = 0.8;
inline constexpr double kGrowthStrangerCosine = 0.25;

[[nodiscard]] std::vector<KeyGrowth> grow_one_key(std::span<const double> norms);

}  // namespace quest::cli
