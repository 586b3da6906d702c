#include "data/picture_fields.h"

namespace quest::data {

void describe(recipe::Fields& fields, ReadingOptions& options) {
  fields.choice("data.unreadable", options.unreadable, {{"skip", Unreadable::skip}, {"fail", Unreadable::fail}},
                "a picture that cannot be read: take the next one instead and name it, or end the training");
  fields.choice("data.order", options.order, {{"shuffled", PictureOrder::shuffled}, {"blocks", PictureOrder::blocks}},
                "order of the training pictures: any, or nearly that of a pack, for disks that are slow at random");
}

}  // namespace quest::data
