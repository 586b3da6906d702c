#pragma once

// The arithmetic of optimisers on ranges of flat buffers: by the CPU's kernels, on other devices by torch's operations.

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>
#include <vector>

#include "kernels/cpu/optimizer.h"
#include "train/optim/flat_parameters.h"

namespace quest::train {

using kernels::cpu::AdamStep;
using kernels::cpu::SgdStep;

// Flat buffers, or the same range of each.
struct AdamBuffers {
  at::Tensor value;
  at::Tensor gradient;
  at::Tensor first_moment;
  at::Tensor second_moment;

  [[nodiscard]] AdamBuffers range(std::int64_t begin, std::int64_t end) const;
};

void adam(const AdamStep& step, const AdamBuffers& range);

// p -= r · step_size · (u + weight_decay · p) with r = ‖p‖ / ‖u + weight_decay · p‖ of each slice where neither is
// zero, and 1 where one is or nothing decays. The range begins at the first of its slices.
void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Slice> slices);

void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer);

// ‖x‖ of every slice of a range on the CPU that begins at the first of them.
std::vector<double> slice_norms(const at::Tensor& range, std::span<const Slice> slices);

// What the functions above do on a device without kernels of ours.
namespace plain {
void adam(const AdamStep& step, const AdamBuffers& range);
void lamb(const AdamStep& step, double weight_decay, const AdamBuffers& range, std::span<const Slice> slices);
void sgd(const SgdStep& step, const at::Tensor& value, const at::Tensor& gradient, const at::Tensor& buffer);
}  // namespace plain

}  // namespace quest::train
