#include "train/engine/late_numbers.h"

#include <ATen/ops/empty_like.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace quest::train {

LateNumbers::LateNumbers(const at::Tensor& numbers) {
  const auto all = numbers.to(at::kDouble);
  if (all.is_cpu()) {
    host_ = all.clone();
    return;
  }
  host_ = at::empty_like(all, all.options().device(at::kCPU).pinned_memory(true));
  host_.copy_(all, /*non_blocking=*/true);
  arrived_.emplace(all.device().type());
  arrived_->record(c10::impl::VirtualGuardImpl(all.device().type()).getStream(all.device()));
}

std::vector<double> LateNumbers::read() const {
  if (arrived_) arrived_->synchronize();
  const auto* first = host_.const_data_ptr<double>();
  return {first, first + host_.numel()};
}

}  // namespace quest::train
