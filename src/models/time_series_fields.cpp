#include "models/time_series_fields.h"

#include <string>

#include "models/fields.h"

namespace quest::models {

void describe(recipe::Fields& fields, TimeSeriesOptions& options) {
  describe_formulation(fields, options.formulation());
  describe_transformer(fields, options.dim(), options.depth(), options.heads());
  fields.choice<TimeSeriesHead>(
      "model.head", options.head(),
      {{"class_token", TimeSeriesHead::class_token}, {"concatenation", TimeSeriesHead::concatenation}},
      "what the classifier reads: a class token, or the outputs of all time steps side by side");
  fields.integer("model.mlp_hidden", options.mlp_hidden(), recipe::IntegerRange::from(1), "hidden width of the MLP");
  fields.number("model.dropout", options.dropout(), recipe::Range::from_to_below(0, 1),
                "dropout everywhere, attention weights included");
  fields.flag("model.mask_padding", options.mask_padding(), "keep attention off the padding of short series");
  fields.rule([&options] {
    return options.dim() % 2 == 0
               ? ""
               : "model.dim must be even, for sines and cosines of the position; got " + std::to_string(options.dim());
  });
}

}  // namespace quest::models
