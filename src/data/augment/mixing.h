#pragma once

// Mixup and cutmix: the samples of a batch are mixed with the same samples in reversed order, their targets likewise.
// What is drawn is drawn on the host and travels in the batch as small tensors, so that mixing itself may be done on
// any device, without waiting.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/augment/augment_options.h"
#include "data/batch.h"
#include "data/stream.h"

namespace quest::data {

// Undefined tensors where nothing is mixed.
struct MixPlan {
  at::Tensor partner;        // int64 [B]
  at::Tensor box;            // int64 [B, 4], a PictureBox that shows the partner; empty for mixup
  at::Tensor pixel_weight;   // float [B], of the own image outside the box
  at::Tensor target_weight;  // float [B], of the own target

  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> named() const;
  [[nodiscard]] static MixPlan of(const Batch& batch);
};

// One decision for each group of a pass, a function of the draw's seed, the step and the group alone. Throws
// std::invalid_argument where the pass does not hold whole groups.
[[nodiscard]] MixPlan plan_mixing(const MixingOptions& options, const Draw& draw, const PictureSize& size);

// Of floats [B, channels, height, width].
[[nodiscard]] at::Tensor mixed_images(const at::Tensor& images, const MixPlan& plan);

// Float [B, classes] from labels [B], with the smoothing spread over all classes.
[[nodiscard]] at::Tensor mixed_targets(const at::Tensor& labels, std::int64_t classes, double smoothing,
                                       const MixPlan& plan);

// Which elements lie in each sample's box [B, 4]: bool [B, 1, height, width].
[[nodiscard]] at::Tensor inside_boxes(const at::Tensor& boxes, const PictureSize& size);

// From the beta distribution with both numbers `alpha`.
[[nodiscard]] double symmetric_beta(double alpha, base::Random& random);

}  // namespace quest::data
