#include "models/transformer_options.h"

#include <vector>

#include "quest/formulation.h"

namespace quest::models {

void describe(recipe::Fields& fields, TransformerOptions& options) {
  using recipe::IntegerRange;
  std::vector<std::string> formulations;
  for (const auto& formulation : all_formulations()) formulations.emplace_back(formulation.name);
  fields.choice("model.formulation", options.formulation, std::move(formulations), "which attention");
  fields.integer("model.dim", options.dim, IntegerRange::from(1), "width of the tokens");
  fields.integer("model.depth", options.depth, IntegerRange::from(1), "blocks");
  fields.integer("model.heads", options.heads, IntegerRange::from(1), "attention heads of a block");
  fields.rule([&options] {
    return options.dim % options.heads == 0 ? ""
                                            : "model.dim must be a multiple of model.heads; got " +
                                                  std::to_string(options.dim) + " and " + std::to_string(options.heads);
  });
}

}  // namespace quest::models
