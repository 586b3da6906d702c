#pragma once

#include <ATen/core/Tensor.h>

#include "train/optim/share.h"

namespace quest::train {

// Scales gradients as torch's clip_grad_norm_ does: first every tensor whose norm exceeds clip_each, then all of them
// if their norm together still exceeds clip_norm; 0 switches either off. Returns the norm of all gradients before, a
// float64 number on their device, for which a GPU is not waited. Where that is not finite nothing is scaled.
at::Tensor clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each = 0.0);
// Where processes share the gradients: each scales its own, by norms of all. Every process calls it.
at::Tensor clip_gradients(FlatParameters& parameters, const Share& share, double clip_norm, double clip_each);

namespace plain {
at::Tensor clip_gradients(FlatParameters& parameters, const Share& share, double clip_norm, double clip_each);
}

}  // namespace quest::train
