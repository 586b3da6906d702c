#include "quest/nn/mlp.h"

#include <torch/torch.h>

namespace quest::nn {

MlpImpl::MlpImpl(const MlpOptions& given) : options(given) { reset(); }

void MlpImpl::reset() {
  fc1 = register_module("fc1", torch::nn::Linear(options.dim(), options.hidden()));
  fc2 = register_module("fc2", torch::nn::Linear(options.hidden(), options.dim()));
  drop = register_module("drop", torch::nn::Dropout(options.dropout()));
}

at::Tensor MlpImpl::forward(const at::Tensor& x) {
  const at::Tensor hidden = fc1->forward(x);
  const at::Tensor active = options.activation() == Activation::gelu ? at::gelu(hidden) : at::relu(hidden);
  return drop->forward(fc2->forward(drop->forward(active)));
}

}  // namespace quest::nn
