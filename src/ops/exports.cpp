// What languages other than C++ call in this library besides its operators: plain C functions. Texts are UTF-8.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "ops/rules/explosion.h"
#include "ops/rules/text.h"
#include "quest/export.h"

namespace quest::ops {
namespace {

struct Watch {
  ExplosionDetector detector;
  std::vector<std::string> texts;
};

}  // namespace
}  // namespace quest::ops

extern "C" {

// The rules of attention as JSON; the text stays.
QUEST_API const char* quest_rules() noexcept {
  static const std::string text = quest::ops::rules_as_json();
  return text.c_str();
}

QUEST_API void* quest_explosion_new(double least_logit, double factor, std::int64_t within_steps) noexcept {
  using quest::ops::ExplosionDetector;
  return new quest::ops::Watch{
      .detector = ExplosionDetector({.within_steps = within_steps, .factor = factor, .least_logit = least_logit}),
      .texts = {}};
}

// Returns how many warnings the layer's figures gave; each array has one entry per head.
QUEST_API std::int64_t quest_explosion_add(void* watch, std::int64_t step, const char* layer, std::int64_t heads,
                                           const double* max_logit, const double* key_norm) noexcept {
  auto& [detector, texts] = *static_cast<quest::ops::Watch*>(watch);
  const auto count = static_cast<std::size_t>(heads);
  texts.clear();
  for (const auto& warning : detector.add({step, layer, {max_logit, count}, {key_norm, count}})) {
    texts.push_back(warning.text());
  }
  return static_cast<std::int64_t>(texts.size());
}

// Of the last addition; it stays until the next.
QUEST_API const char* quest_explosion_text(void* watch, std::int64_t warning) noexcept {
  return static_cast<quest::ops::Watch*>(watch)->texts[static_cast<std::size_t>(warning)].c_str();
}

QUEST_API void quest_explosion_delete(void* watch) noexcept { delete static_cast<quest::ops::Watch*>(watch); }

}  // extern "C"
