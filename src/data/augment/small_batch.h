#pragma once

// Small images that lie in memory: a batch carries them as bytes, with what was drawn for each as small tensors, and
// the device augments all of them at once, without waiting for the host. The numbers are those of Augmenter.

#include <string>

#include "data/augment/augment_options.h"
#include "data/augment/mixing.h"
#include "data/batch.h"
#include "data/labelled_images.h"
#include "data/stream.h"

namespace quest::data {

// Why these options need Augmenter, naming keys; empty where they do not.
[[nodiscard]] std::string obstacle_to_small_batches(const AugmentOptions& options);

// "pixels" uint8 [B, channels, height, width], "labels" int64 [B], and what is done to them. Throws
// std::invalid_argument where there is an obstacle, or images have another size than the options say.
[[nodiscard]] Batch small_training_batch(const LabelledImages& from, const Draw& draw, const AugmentOptions& options);

// Normalised floats from a small batch on any device, moved, mirrored, erased and mixed as it says; its targets are
// mixed_targets(batch["labels"], classes, smoothing, MixPlan::of(batch)). A batch of "pixels" alone is normalised.
[[nodiscard]] at::Tensor small_inputs(const Batch& batch, const AugmentOptions& options);

// Element by element the index-th number N(0, 1) of base::Random(seed, {}), as float; int64 tensors that go together.
[[nodiscard]] at::Tensor normal_numbers(const at::Tensor& seeds, const at::Tensor& indices);

}  // namespace quest::data
