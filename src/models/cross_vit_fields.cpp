#include "models/cross_vit_fields.h"

#include <string>

#include "models/fields.h"

namespace quest::models {
namespace {

void describe_branch(recipe::Fields& fields, const std::string& name, CrossViTBranch& branch) {
  using recipe::IntegerRange;
  const std::string key = "model." + name + "_";
  const std::string of = " of the " + name + " branch";
  fields.integer(key + "patch_size", branch.patch_size, IntegerRange::from(1), "pixels a side" + of);
  fields.integer(key + "dim", branch.dim, IntegerRange::from(1), "width of the tokens" + of);
  fields.integer(key + "depth", branch.depth, IntegerRange::from(1), "blocks of a stage" + of);
  fields.integer(key + "heads", branch.heads, IntegerRange::from(1), "attention heads" + of);
  fields.rule([key, &branch] {
    return branch.dim % branch.heads == 0 ? ""
                                          : key + "dim must be a multiple of " + key + "heads; got " +
                                                std::to_string(branch.dim) + " and " + std::to_string(branch.heads);
  });
  fields.rule([key, name, &branch] {
    return branch.image_size % branch.patch_size == 0
               ? ""
               : key + "patch_size must divide the " + std::to_string(branch.image_size) +
                     " pixels of the side of an image of the " + name + " branch; got " +
                     std::to_string(branch.patch_size);
  });
}

std::string three_convolutions_problem(const CrossViTOptions& options) {
  if (!options.three_convolutions()) return "";
  for (const CrossViTBranch* branch : {&options.fine(), &options.coarse()}) {
    if (branch->patch_size != 12 && branch->patch_size != 16) {
      return "model.three_convolutions makes patches of 12 or 16 pixels a side; got " +
             std::to_string(branch->patch_size);
    }
    if (branch->dim % 4 != 0) {
      return "model.three_convolutions needs widths that are multiples of 4; got " + std::to_string(branch->dim);
    }
  }
  return "";
}

}  // namespace

void describe(recipe::Fields& fields, CrossViTOptions& options) {
  using recipe::Range;
  describe_formulation(fields, options.formulation());
  fields.integer("model.coarse_image_size", options.coarse().image_size, recipe::IntegerRange::from(1),
                 "pixels a side that images are resized to for the coarse branch");
  describe_branch(fields, "fine", options.fine());
  describe_branch(fields, "coarse", options.coarse());
  fields.integer("model.stages", options.stages(), recipe::IntegerRange::from(1),
                 "times that the branches read each other");
  fields.flag("model.three_convolutions", options.three_convolutions(),
              "patches by three convolutions, as in the models with a dagger; false: by one");
  fields.number("model.mlp_ratio", options.mlp_ratio(), Range::above(0), "hidden width of the MLP over the tokens'");
  fields.number("model.dropout", options.dropout(), Range::from_to_below(0, 1), "dropout of projections");
  fields.number("model.drop_path", options.drop_path(), Range::from_to_below(0, 1), "stochastic depth, last block");
  fields.rule([&options] { return three_convolutions_problem(options); });
}

}  // namespace quest::models
