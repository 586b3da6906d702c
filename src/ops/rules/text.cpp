#include "ops/rules/text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <string_view>

#include "kernels/cuda/choice.h"
#include "ops/rules/explosion.h"
#include "ops/rules/learned_gain.h"
#include "ops/rules/path.h"
#include "quest/formulation.h"

namespace quest::ops {
namespace {

// Our own names and sentences hold nothing that JSON would escape.
std::string json(std::string_view text) { return '"' + std::string(text) + '"'; }

std::string json(bool value) { return value ? "true" : "false"; }

std::string json(std::integral auto value) { return std::to_string(value); }

// With a point or an exponent, by which readers tell it from an integer.
std::string json(double value) {
  if (!std::isfinite(value)) return "null";
  std::array<char, 32> digits{};
  const std::string text(digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

template <typename Range, typename Function>
std::string json_list(const Range& range, Function&& item) {
  std::string text;
  for (const auto& one : range) text += (text.empty() ? "" : ",") + item(one);
  return '[' + text + ']';
}

class JsonObject {
 public:
  template <typename Value>
  JsonObject& with(std::string_view key, const Value& value) {
    return with_text(key, json(value));
  }

  JsonObject& with_text(std::string_view key, const std::string& value) {
    text_ += (text_.empty() ? "" : ",") + json(key) + ':' + value;
    return *this;
  }

  [[nodiscard]] std::string text() const { return '{' + text_ + '}'; }

 private:
  std::string text_;
};

std::string_view name(GainAxes axes) {
  switch (axes) {
    case GainAxes::none:
      return "none";
    case GainAxes::head:
      return "head";
    case GainAxes::dim:
      return "dim";
    case GainAxes::head_and_dim:
      return "head_and_dim";
  }
  return {};
}

std::string formulation_text(const Formulation& formulation) {
  return JsonObject()
      .with("name", formulation.name)
      .with("normalize_q", formulation.normalize_q)
      .with("normalize_k", formulation.normalize_k)
      .with("divide_by_sqrt_dim", formulation.divide_by_sqrt_dim)
      .with("gain_axes", name(formulation.gain_axes))
      .with("gain_is_learned", formulation.gain_is_learned)
      .text();
}

std::string gain_text(const LearnedGain& gain) {
  return JsonObject()
      .with("axes", name(gain.axes))
      .with_text("parameters", json_list(gain.parameters, [](std::string_view one) { return json(one); }))
      .with("varies_by_head", gain.varies_by_head)
      .with("varies_by_dim", gain.varies_by_dim)
      .with("is_exponential", gain.is_exponential)
      .with("start", gain.start)
      .with("most", gain.most)
      .text();
}

std::string obstacle_text(const Obstacle& obstacle) {
  return JsonObject().with("name", obstacle.name).with("text", std::string_view(obstacle.text)).text();
}

std::string limits_text() {
  return JsonObject()
      .with("largest_cuda_dim", kernels::cuda::kLargestDim)
      .with("dims_per_word", dims_per_word())
      .text();
}

std::string explosion_text() {
  const ExplosionOptions options;
  return JsonObject()
      .with("least_logit", options.least_logit)
      .with("factor", options.factor)
      .with("within_steps", options.within_steps)
      .text();
}

}  // namespace

std::string rules_as_json() {
  return JsonObject()
      .with("version", std::string_view(QUEST_VERSION))
      .with_text("formulations", json_list(all_formulations(), formulation_text))
      .with_text("learned_gains", json_list(learned_gains(), gain_text))
      .with_text("obstacles", json_list(obstacles(), obstacle_text))
      .with_text("limits", limits_text())
      .with_text("explosion", explosion_text())
      .text();
}

}  // namespace quest::ops
