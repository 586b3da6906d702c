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

// Norms of the slices from those of their pieces.
at::Tensor of_whole_slices(const at::Tensor& norms, const Share& share) {
  if (share.is_whole()) return norms;
  const at::Tensor squares = norms.to(at::kDouble).square();
  share.add_up(squares);
  return squares.sqrt_().to(norms.scalar_type());
}

at::Tensor piece_norms(const std::vector<at::Tensor>& parts) { return at::stack(at::_foreach_norm(parts, 2)); }

}  // namespace

std::vector<at::Tensor> parts(const at::Tensor& range, std::span<const Piece> pieces) {
  std::vector<at::Tensor> result;
  result.reserve(pieces.size());
  for (const Piece& piece : pieces) {
    result.push_back(piece.count > 0 ? range.narrow(0, piece.begin, piece.count) : at::zeros({1}, range.options()));
  }
  return result;
}

at::Tensor slice_norms(const at::Tensor& range, std::span<const Piece> pieces, const Share& share) {
  return of_whole_slices(piece_norms(parts(range, pieces)).to(at::kDouble), share);
}

void adam(const AdamStep& step, const AdamBuffers& range) {
  update_moments(step, range);
  const at::Tensor u = direction(step, range);
  if (step.decay != 0) {
    range.value.sub_(u * step.step_size + range.value * step.decay);
  } else {
    range.value.sub_(u, step.step_size);
  }
}

void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Piece> pieces,
          const Share& share) {
  update_moments(step, range);
  const at::Tensor u = at::add(direction(step, range), range.value, weight_decay);
  if (weight_decay != 0) {
    const std::vector<at::Tensor> updates = parts(u, pieces);
    const at::Tensor norms =
        of_whole_slices(at::stack({piece_norms(parts(range.value, pieces)), piece_norms(updates)}), share);
    const at::Tensor both = (norms > 0).all(0);
    at::_foreach_mul_(updates, at::unbind(at::where(both, norms[0] / norms[1], 1.0)));
  }
  range.value.sub_(u, step.step_size);
}

void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer) {
  const at::Tensor g = step.l2 == 0 ? gradient : at::add(gradient, value, step.l2);
  buffer.mul_(step.momentum).add_(g);
  value.sub_(step.nesterov ? at::add(g, buffer, step.momentum) : buffer, step.lr);
}

}  // namespace quest::train::plain
