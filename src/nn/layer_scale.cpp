#include "quest/nn/layer_scale.h"

#include <torch/torch.h>

namespace quest::nn {

LayerScaleImpl::LayerScaleImpl(std::int64_t width, double start) : dim(width), initial_value(start) { reset(); }

void LayerScaleImpl::reset() { gamma = register_parameter("gamma", at::full({dim}, initial_value)); }

at::Tensor LayerScaleImpl::forward(const at::Tensor& x) const { return x * gamma; }

}  // namespace quest::nn
