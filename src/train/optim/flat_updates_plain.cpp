// Update rules in torch's own operations.

#include <torch/torch.h>

#include "train/optim/flat_updates.h"

namespace quest::train::plain {
namespace {

void update_moments(const AdamStep& step, const AdamBuffers& b) {
  const at::Tensor g = step.l2 == 0 ? b.gradient : at::add(b.gradient, b.value, step.l2);
  b.first_moment.lerp_(g, 1.0 - step.beta1);
  b.second_moment.mul_(step.beta2).addcmul_(g, g, 1.0 - step.beta2);
}

at::Tensor direction(const AdamStep& step, const AdamBuffers& b) {
  if (!step.adaptive) return b.first_moment;
  return b.first_moment / b.second_moment.sqrt().mul_(step.root_scale).add_(step.eps);
}

std::vector<at::Tensor> parts(const at::Tensor& range, std::span<const Slice> slices) {
  std::vector<at::Tensor> result;
  result.reserve(slices.size());
  for (const Slice& slice : slices) {
    result.push_back(range.narrow(0, slice.offset - slices.front().offset, slice.numel()));
  }
  return result;
}

at::Tensor norms(const at::Tensor& range, std::span<const Slice> slices) {
  return at::stack(at::_foreach_norm(parts(range, slices), 2));
}

}  // namespace

void adam(const AdamStep& step, const AdamBuffers& range) {
  update_moments(step, range);
  const at::Tensor u = direction(step, range);
  if (step.decay != 0) {
    range.value.sub_(u * step.step_size + range.value * step.decay);
  } else {
    range.value.sub_(u, step.step_size);
  }
}

void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Slice> slices) {
  update_moments(step, range);
  const at::Tensor u = at::add(direction(step, range), range.value, weight_decay);
  if (weight_decay != 0) {
    const at::Tensor value_norms = norms(range.value, slices);
    const at::Tensor update_norms = norms(u, slices);
    const at::Tensor both = (value_norms > 0).logical_and(update_norms > 0);
    at::_foreach_mul_(parts(u, slices), at::unbind(at::where(both, value_norms / update_norms, 1.0)));
  }
  range.value.sub_(u, step.step_size);
}

void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer) {
  const at::Tensor g = step.l2 == 0 ? gradient : at::add(gradient, value, step.l2);
  buffer.mul_(step.momentum).add_(g);
  value.sub_(step.nesterov ? at::add(g, buffer, step.momentum) : buffer, step.lr);
}

}  // namespace quest::train::plain
