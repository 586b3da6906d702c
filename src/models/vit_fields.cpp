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
  fields.flag("model.uniform_drop_path", options.uniform_drop_path(),
              "the stochastic depth of the last block in all; false: it grows from 0 in the first");
  fields.number("model.layer_scale", options.layer_scale(), Range::from(0),
                "first value of the learned factors of every residual branch; 0: there are none");
  fields.flag("model.class_token_position", options.class_token_position(),
              "the class token has a position; false: positions are added to the patches alone");
  fields.choice<Pooling>("model.pooling", options.pooling(),
                         {{"class_token", Pooling::class_token}, {"mean", Pooling::mean}}, "what the classifier reads");
  fields.rule([&options]() -> std::string {
    if (options.patch_size() <= options.image_size()) return "";
    return "model.patch_size must be at most the " + std::to_string(options.image_size()) +
           " pixels of an image's side; got " + std::to_string(options.patch_size());
  });
}

}  // namespace quest::models
