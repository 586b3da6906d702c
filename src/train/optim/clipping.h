#pragma once

#include "train/optim/flat_parameters.h"

namespace quest::train {

// Scales gradients as torch's clip_grad_norm_ does: first every tensor whose norm exceeds clip_each, then all of them
// if their norm together still exceeds clip_norm; 0 switches either off. Returns the norm of all gradients before.
// Where that is not finite nothing is scaled.
double clip_gradients(FlatParameters& parameters, double clip_norm, double clip_each = 0.0);

}  // namespace quest::train
