#include "quest/nn/initialization.h"

#include <torch/torch.h>

#include "quest/nn/attention.h"

namespace quest::nn {
namespace {

constexpr double kLinearDeviation = 0.02;

}  // namespace

void trunc_normal(const at::Tensor& tensor, double std, double low, double high) {
  TORCH_CHECK(std > 0.0 && low < high, "quest::nn: trunc_normal needs a positive deviation and low < high, got ", std,
              ", ", low, " and ", high);
  const at::NoGradGuard no_gradients;
  tensor.normal_(0.0, std);
  for (at::Tensor outside = (tensor < low).logical_or_(tensor > high); outside.any().item<bool>();
       outside = (tensor < low).logical_or_(tensor > high)) {
    tensor.copy_(at::where(outside, at::empty_like(tensor).normal_(0.0, std), tensor));
  }
}

void init_vit_weights(torch::nn::Module& module) {
  module.apply([](torch::nn::Module& part) {
    if (auto* linear = part.as<torch::nn::LinearImpl>()) {
      trunc_normal(linear->weight, kLinearDeviation);
      if (linear->bias.defined()) {
        torch::nn::init::zeros_(linear->bias);
      }
    }
  });
}

void init_as_multihead_attention(AttentionImpl& attention) {
  torch::nn::init::xavier_uniform_(attention.qkv->weight);
  if (attention.qkv->bias.defined()) {
    torch::nn::init::zeros_(attention.qkv->bias);
  }
  torch::nn::init::zeros_(attention.proj->bias);
}

}  // namespace quest::nn
