#pragma once

#include "data/augment/augment_options.h"
#include "recipe/fields.h"

namespace quest::data {

// The keys augment.*, but for the size of images, which the task settles.
void describe(recipe::Fields& fields, AugmentOptions& options);

}  // namespace quest::data
