#pragma once

// The arithmetic of optimisers on ranges of flat buffers: by the CPU's kernels, on other devices by torch's operations.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/optimizer.h"
#include "train/optim/share.h"

namespace quest::train {

using kernels::cpu::AdamStep;
using kernels::cpu::SgdStep;

// The same range of four flat buffers.
struct AdamBuffers {
  at::Tensor value;
  at::Tensor gradient;
  at::Tensor first_moment;
  at::Tensor second_moment;
};

void adam(const AdamStep& step, const AdamBuffers& range);

// p -= r · step_size · (u + weight_decay · p) with r = ‖p‖ / ‖u + weight_decay · p‖ of each slice where neither is
// zero, and 1 where one is or nothing decays. The pieces are what of the slices lies in the range; where others have
// the rest of them, norms are those of the whole.
void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Piece> pieces,
          const Share& share);

void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer);

// ‖x‖ of every slice of which a range on the CPU has a piece, the rest of it included that others have.
std::vector<double> slice_norms(const at::Tensor& range, std::span<const Piece> pieces, const Share& share);

// What the functions above do on a device without kernels of ours.
namespace plain {
void adam(const AdamStep& step, const AdamBuffers& range);
void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Piece> pieces,
          const Share& share);
void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer);
// As slice_norms, one tensor of float64 numbers.
at::Tensor slice_norms(const at::Tensor& range, std::span<const Piece> pieces, const Share& share);
// The pieces themselves; a tensor of its own in the place of one without elements, which torch's norms cannot take.
std::vector<at::Tensor> parts(const at::Tensor& range, std::span<const Piece> pieces);
}  // namespace plain

}  // namespace quest::train
