#include "domains/toy/spurious_settings.h"

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "models/fields.h"

namespace quest::toy {
namespace {

using engine::Wiring;
using recipe::IntegerRange;
using recipe::Range;

constexpr IntegerRange kSamples{.least = 1, .most = 1'000'000};

// Empty where the engine can train it.
std::string problem_of(const Formulation& formulation) {
  if (formulation.gain_axes == GainAxes::none || formulation.gain_is_learned) return "";
  return "model.formulation: expected one with a learned gain or none, got \"" + std::string(formulation.name) +
         "\", whose gain is estimated from data that this task does not have";
}

void describe_model(recipe::Fields& fields, SpuriousSettings& settings) {
  models::describe_formulation(fields, settings.formulation);
  fields.rule([&settings] { return problem_of(settings.formulation); });
  std::vector<std::pair<std::string, Wiring>> wirings;
  for (const Wiring wiring : {Wiring::pre_norm, Wiring::algorithm}) wirings.emplace_back(wiring_name(wiring), wiring);
  fields.choice<Wiring>("model.wiring", settings.wiring, wirings,
                        "the block: as transformers usually have it, or the paper's listing to the letter");
  fields.integer("model.initialization", settings.initialization, IntegerRange::from(0), "which initial weights");
}

void describe_data(recipe::Fields& fields, SpuriousSettings& settings) {
  fields.integer("data.tokens", settings.sizes.tokens, {.least = 1, .most = 1000}, "tokens of a sequence, without CLS");
  fields.integer("data.samples", settings.sizes.training_samples, kSamples,
                 "training samples, of which half carry the pattern");
  fields.integer("data.test_samples", settings.sizes.test_samples, kSamples, "test samples, none with the pattern");
  fields.integer("data.realization", settings.realization, IntegerRange::from(0),
                 "which data set, and which order of batches");
}

}  // namespace

std::string_view wiring_name(Wiring wiring) { return wiring == Wiring::algorithm ? "algorithm" : "pre-norm"; }

void describe(recipe::Fields& fields, SpuriousSettings& settings) {
  fields.integer("seed", settings.seed, IntegerRange::from(0),
                 "names every draw, beside data.realization and model.initialization");
  describe_model(fields, settings);
  describe_data(fields, settings);
  fields.integer("train.epochs", settings.epochs, {.least = 1, .most = 100'000}, "passes over the training samples");
  fields.integer("train.batch_size", settings.batch_size, kSamples, "samples of a step");
  fields.number("optimizer.lr", settings.learning_rate, Range::between(0, 10), "learning rate of AdamW, constant");
  fields.number("optimizer.weight_decay", settings.weight_decay, Range::between(0, 10),
                "decoupled, of every parameter");
}

engine::Model model_of(const SpuriousSettings& settings) {
  using engine::Gain;
  const Formulation& formulation = settings.formulation;
  if (const auto problem = problem_of(formulation); !problem.empty()) throw std::invalid_argument(problem);
  Gain gain = Gain::per_dim;
  if (formulation.gain_axes == GainAxes::none) gain = Gain::none;
  if (formulation.gain_axes == GainAxes::head) gain = Gain::logarithm;
  return {.wiring = settings.wiring,
          .normalize_q = formulation.normalize_q,
          .normalize_k = formulation.normalize_k,
          .scale = static_cast<float>(formulation.default_scale(engine::kWidth)),
          .gain = gain,
          .tokens = settings.sizes.tokens};
}

engine::SweepRecipe recipe_of(const SpuriousSettings& settings) {
  return {.model = model_of(settings),
          .seed = settings.seed,
          .realization = settings.realization,
          .epochs = settings.epochs,
          .batch = settings.batch_size};
}

engine::SweepJob job_of(const SpuriousSettings& settings) {
  return {.learning_rate = settings.learning_rate,
          .weight_decay = settings.weight_decay,
          .initialization = settings.initialization};
}

}  // namespace quest::toy
