#pragma once

#include "quest/models/cross_vit.h"
#include "recipe/fields.h"

namespace quest::models {

// The keys model.* of a CrossViT, but for what its data settles: the images' size, channels and classes.
void describe(recipe::Fields& fields, CrossViTOptions& options);

}  // namespace quest::models
