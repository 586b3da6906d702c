#pragma once

#include "quest/models/vit.h"
#include "recipe/fields.h"

namespace quest::models {

// The keys model.* of a vision transformer, but for what its data settles: image size, channels and classes.
void describe(recipe::Fields& fields, ViTOptions& options);

}  // namespace quest::models
