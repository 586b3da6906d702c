#pragma once

// Initial values that are not LibTorch's own.

#include <torch/nn/module.h>

#include "quest/export.h"

namespace quest::nn {

class AttentionImpl;

// In place: normal values, redrawn where they lie outside [low, high].
QUEST_API void trunc_normal(const at::Tensor& tensor, double std, double low = -2.0, double high = 2.0);

// As timm: the weights of every linear layer truncated normal with deviation 0.02, their biases 0. Everything else
// keeps what its module started with.
QUEST_API void init_vit_weights(torch::nn::Module& module);

// As torch::nn::MultiheadAttention: the projection to queries, keys and values uniform as Xavier's for one matrix, and
// biases 0.
QUEST_API void init_as_multihead_attention(AttentionImpl& attention);

}  // namespace quest::nn
