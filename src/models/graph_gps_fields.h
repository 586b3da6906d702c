#pragma once

#include "quest/models/graph_gps.h"
#include "recipe/fields.h"

namespace quest::models {

// The keys model.* of GraphGPS, but for what its data settles: features of nodes and edges, and outputs.
void describe(recipe::Fields& fields, GraphGpsOptions& options);

}  // namespace quest::models
