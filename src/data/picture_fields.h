#pragma once

// The keys of recipes that say how pictures are read.

#include "data/picture_reader.h"
#include "recipe/fields.h"

namespace quest::data {

enum class PictureOrder { shuffled, blocks };

struct ReadingOptions {
  Unreadable unreadable = Unreadable::skip;
  PictureOrder order = PictureOrder::shuffled;
};

// data.unreadable and data.order.
void describe(recipe::Fields& fields, ReadingOptions& options);

}  // namespace quest::data
