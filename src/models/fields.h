#pragma once

// The keys that models of one kind share in recipes; a model's own are in its <model>_fields.h.

#include <cstdint>

#include "quest/formulation.h"
#include "recipe/fields.h"

namespace quest::models {

// model.formulation
void describe_formulation(recipe::Fields& fields, Formulation& formulation);

// model.dim, model.depth and model.heads, and that they go together.
void describe_transformer(recipe::Fields& fields, std::int64_t& dim, std::int64_t& depth, std::int64_t& heads);

}  // namespace quest::models
