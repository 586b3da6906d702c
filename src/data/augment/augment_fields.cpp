#include "data/augment/augment_fields.h"

namespace quest::data {
namespace {

using recipe::IntegerRange;
using recipe::Range;

constexpr Range kProbability = Range::between(0, 1);

void describe_crop(recipe::Fields& fields, AugmentOptions& options) {
  fields.choice<Crop>("augment.crop", options.crop,
                      {{"none", Crop::none}, {"random_resized", Crop::random_resized}, {"simple", Crop::simple}},
                      "random_resized: a random box of the picture, resized; simple: the picture resized by its "
                      "shorter side and padded, "
                      "and a random square of it");
  fields.number("augment.crop_area", options.random_crop.least_area, {.least = 0, .most = 1, .least_is_excluded = true},
                "random_resized: the smallest part of the picture's area");
  fields.number("augment.crop_aspect", options.random_crop.least_aspect, Range::between(0.01, 1),
                "random_resized: the smallest ratio of the box's sides, either way");
  fields.integer("augment.padding", options.padding, IntegerRange::from(0), "simple: pixels added on each side");
  fields.choice<Edge>("augment.edge", options.edge, {{"reflect", Edge::reflect}, {"black", Edge::black}},
                      "simple: what is added");
  fields.choice<Interpolation>("augment.interpolation", options.interpolation,
                               {{"bicubic", Interpolation::bicubic}, {"bilinear", Interpolation::bilinear}},
                               "how pictures are resized, antialiased");
  fields.number("augment.eval_crop", options.evaluated_part, Range::between(0.1, 1),
                "the part of the resized picture's shorter side that is evaluated, in the middle");
}

void describe_mixing(recipe::Fields& fields, MixingOptions& options) {
  fields.number("augment.mixup", options.mixup, Range::from(0),
                "alpha of the weights with which two images are added; 0: never");
  fields.number("augment.cutmix", options.cutmix, Range::from(0),
                "alpha of the size of what is cut from another image; 0: never");
  fields.number("augment.mix_probability", options.probability, kProbability, "that a batch is mixed");
  fields.number("augment.cutmix_share", options.cutmix_share, kProbability,
                "where mixup and cutmix are both on: the probability of cutmix");
  fields.number("augment.smoothing", options.smoothing, Range::from_to_below(0, 1),
                "share of the target spread over all classes");
  fields.integer("augment.mix_group", options.group, IntegerRange::from(0),
                 "so many consecutive samples are mixed with each other; 0: all of a pass");
}

}  // namespace

void describe(recipe::Fields& fields, AugmentOptions& options) {
  describe_crop(fields, options);
  fields.number("augment.flip", options.flip, kProbability, "probability of mirroring left to right");
  fields.text("augment.policy", options.policy,
              "none; 3-augment: grey, solarised or blurred; rand-m9-mstd0.5-inc1: RandAugment, as timm writes it");
  fields.number("augment.color_jitter", options.color_jitter, Range::from(0),
                "brightness, contrast and saturation change by up to this factor");
  fields.number("augment.erasing", options.erasing, kProbability, "probability that a box is replaced by noise");
  describe_mixing(fields, options.mixing);
  fields.numbers("augment.mean", options.statistics.mean, Range::between(0, 1),
                 "subtracted from red, green and blue, pixels being from 0 to 1");
  fields.numbers("augment.deviation", options.statistics.deviation, Range::above(0), "what they are divided by then");
  fields.rule([&options] { return problem_of(options); });
}

}  // namespace quest::data
