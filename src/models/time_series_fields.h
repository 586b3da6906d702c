#pragma once

#include "quest/models/time_series.h"
#include "recipe/fields.h"

namespace quest::models {

// The keys model.* of the time-series transformer, but for what its data settles: channels, length and classes.
void describe(recipe::Fields& fields, TimeSeriesOptions& options);

}  // namespace quest::models
