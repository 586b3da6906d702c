#pragma once

// All that may be done at random to pictures that a model learns to put into classes. The defaults do nothing.

#include <cstdint>
#include <string>

#include "data/augment/crop.h"
#include "data/augment/planes.h"

namespace quest::data {

enum class Crop : std::uint8_t {
  none,            // pictures have the size of the model's
  random_resized,  // a random box of the picture, resized
  simple,          // the picture resized and padded, and a random square of it
};

// What is done to the samples of a batch together.
struct MixingOptions {
  double mixup = 0.0;   // both numbers of the beta distribution; 0: never
  double cutmix = 0.0;  // the same
  double probability = 1.0;
  double cutmix_share = 0.5;  // where both may be
  double smoothing = 0.0;
  std::int64_t group = 0;  // so many samples are mixed with each other; 0: all of a pass

  [[nodiscard]] bool mixes() const { return (mixup > 0.0 || cutmix > 0.0) && probability > 0.0; }
};

struct AugmentOptions {
  std::int64_t image_size = 0;  // a side of what the model reads; no key, the task sets it
  Crop crop = Crop::none;
  RandomCrop random_crop;
  std::int64_t padding = 4;
  Edge edge = Edge::reflect;
  Interpolation interpolation = Interpolation::bicubic;
  double evaluated_part = 1.0;  // of the shorter side
  double flip = 0.0;            // probability
  std::string policy = "none";  // or "3-augment", or RandAugment's
  double color_jitter = 0.0;
  double erasing = 0.0;  // probability
  PixelStatistics statistics;
  MixingOptions mixing;
};

// What is expected and what was given, naming keys of recipes; empty where the options go together.
[[nodiscard]] std::string problem_of(const AugmentOptions& options);

}  // namespace quest::data
