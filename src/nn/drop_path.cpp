#include "quest/nn/drop_path.h"

#include <torch/torch.h>

#include <vector>

namespace quest::nn {

DropPathImpl::DropPathImpl(double probability) : p(probability) {
  TORCH_CHECK(p >= 0.0 && p < 1.0, "quest::nn: the probability of DropPath must be in [0, 1), got ", p);
}

at::Tensor DropPathImpl::forward(const at::Tensor& x) const {
  if (!is_training() || p == 0.0) {
    return x;
  }
  std::vector<std::int64_t> per_sample(static_cast<std::size_t>(x.dim()), 1);
  per_sample[0] = x.size(0);
  return x * at::empty(per_sample, x.options()).bernoulli_(1.0 - p).div_(1.0 - p);
}

}  // namespace quest::nn
