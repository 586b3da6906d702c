#include "models/vit_fields.h"

#include <string>

#include "models/fields.h"

namespace quest::models {

void describe(recipe::Fields& fields, ViTOptions& options) {
  using recipe::Range;
  describe_formulation(fields, options.formulation());
  describe_transformer(fields, options.dim(), options.depth(), options.heads());
  fields.integer("model.patch_size", options.patch_size(), recipe::IntegerRange::from(1), "pixels a side");
  fields.number("model.mlp_ratio", options.mlp_ratio(), Range::above(0), "hidden width of the MLP over model.dim");
  fields.number("model.dropout", options.dropout(), Range::from_to_below(0, 1), "dropout of projections");
  fields.number("model.drop_path", options.drop_path(), Range::from_to_below(0, 1), "stochastic depth, last block");
  fields.choice<Pooling>("model.pooling", options.pooling(),
                         {{"class_token", Pooling::class_token}, {"mean", Pooling::mean}}, "what the classifier reads");
  fields.rule([&options]() -> std::string {
    if (options.image_size() % options.patch_size() == 0) return "";
    return "model.patch_size must divide the " + std::to_string(options.image_size()) +
           " pixels of an image's side; got " + std::to_string(options.patch_size());
  });
}

}  // namespace quest::models
