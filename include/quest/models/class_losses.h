#pragma once

// Losses of classifiers whose targets are shares of classes, as mixup and cutmix make them: logits and targets are
// [B, classes].

#include <ATen/core/Tensor.h>

#include "quest/export.h"

namespace quest::models {

enum class ClassLoss {
  cross_entropy,
  binary_cross_entropy,  // as DeiT-3: every class by itself
};

// The mean over the samples of -Σ target · log softmax(logits).
[[nodiscard]] QUEST_API at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets);

// The mean over samples and classes of the sigmoid's cross-entropy. A class with any share in the target counts as
// wholly present: both of a mixture do.
[[nodiscard]] QUEST_API at::Tensor thresholded_binary_cross_entropy(const at::Tensor& logits,
                                                                    const at::Tensor& targets);

}  // namespace quest::models
