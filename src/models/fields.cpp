#include "models/fields.h"

#include <string>
#include <utility>
#include <vector>

namespace quest::models {

void describe_formulation(recipe::Fields& fields, Formulation& formulation) {
  std::vector<std::string> names;
  for (const auto& one : all_formulations()) names.emplace_back(one.name);
  fields.choice_by_name(
      "model.formulation", std::move(names), "which attention",
      [&formulation] { return std::string(formulation.name); },
      [&formulation](const std::string& name) { formulation = formulation_from_name(name); });
}

void describe_transformer(recipe::Fields& fields, std::int64_t& dim, std::int64_t& depth, std::int64_t& heads) {
  using recipe::IntegerRange;
  fields.integer("model.dim", dim, IntegerRange::from(1), "width of the tokens");
  fields.integer("model.depth", depth, IntegerRange::from(1), "blocks");
  fields.integer("model.heads", heads, IntegerRange::from(1), "attention heads of a block");
  fields.rule([&dim, &heads] {
    return dim % heads == 0 ? ""
                            : "model.dim must be a multiple of model.heads; got " + std::to_string(dim) + " and " +
                                  std::to_string(heads);
  });
}

}  // namespace quest::models
