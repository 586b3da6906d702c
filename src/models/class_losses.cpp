#include "quest/models/class_losses.h"

#include <torch/torch.h>

namespace quest::models {
namespace {

void check(const at::Tensor& logits, const at::Tensor& targets) {
  TORCH_CHECK(logits.dim() == 2 && logits.sizes() == targets.sizes(),
              "quest::models: targets of mixed classes must have the shape of the logits, [batch, classes], got ",
              targets.sizes(), " for ", logits.sizes());
}

}  // namespace

at::Tensor soft_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  check(logits, targets);
  return at::cross_entropy_loss(logits, targets);
}

at::Tensor thresholded_binary_cross_entropy(const at::Tensor& logits, const at::Tensor& targets) {
  check(logits, targets);
  const at::Tensor wide = logits.scalar_type() == at::kDouble ? logits : logits.to(at::kFloat);
  return at::binary_cross_entropy_with_logits(wide, (targets > 0).to(wide.scalar_type()));
}

}  // namespace quest::models
