#include "ops/rules/explosion.h"

#include <algorithm>
#include <cmath>
#include <sstream>

namespace quest::ops {
namespace {

using Figures = ExplosionWarning::Figures;

constexpr std::size_t kFewestRecords = 4;

std::string fixed(double value) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << value;
  return text.str();
}

}  // namespace

std::string ExplosionWarning::text() const {
  const bool doubled = now.max_logit < 3.0 * before.max_logit;
  return "layer " + layer + " head " + std::to_string(head) + ": max logit " + (doubled ? "doubled" : "grew") + " in " +
         std::to_string(now.step - before.step) + " steps (" + fixed(before.max_logit) + " → " + fixed(now.max_logit) +
         "), key norm " + fixed(before.key_norm) + " → " + fixed(now.key_norm);
}

std::vector<ExplosionWarning> ExplosionDetector::add(const LayerLogits& logits) {
  std::vector<ExplosionWarning> warnings;
  for (std::size_t i = 0; i < logits.max_logit.size(); ++i) {
    if (!std::isfinite(logits.max_logit[i])) continue;
    Head& head = heads_[{logits.layer, i}];
    head.recent.push_back({logits.step, logits.max_logit[i], logits.key_norm[i]});
    if (const auto* before = start_of_growth(head)) {
      warnings.push_back({logits.layer, i, *before, head.recent.back()});
    }
  }
  return warnings;
}

// Null where nothing has grown enough to be reported.
const Figures* ExplosionDetector::start_of_growth(Head& head) const {
  auto& recent = head.recent;
  const std::int64_t oldest = recent.back().step - options_.within_steps;
  while (recent.size() > kFewestRecords && recent.front().step < oldest) recent.pop_front();
  if (recent.size() < kFewestRecords) return nullptr;

  const auto last = recent.size() - 1;
  const double held = std::min(recent[last - 1].max_logit, recent[last].max_logit);
  if (held < options_.least_logit || held < options_.factor * head.reported) return nullptr;

  const Figures* lowest = nullptr;
  for (std::size_t i = 1; i + 1 < last; ++i) {
    const Figures& higher = recent[i - 1].max_logit > recent[i].max_logit ? recent[i - 1] : recent[i];
    if (lowest == nullptr || higher.max_logit < lowest->max_logit) lowest = &higher;
  }
  if (held < options_.factor * lowest->max_logit) return nullptr;
  head.reported = held;
  return lowest;
}

}  // namespace quest::ops
