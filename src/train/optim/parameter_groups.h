#pragma once

// Which parameters of a model are decayed, and with which learning rate each is trained.

#include <torch/nn/module.h>

#include <string>
#include <vector>

#include "train/optim/flat_parameters.h"
#include "train/optim/parameter_rules.h"

namespace quest::train {

struct GroupingOptions {
  double weight_decay = 0.0;
  // false: none for parameters with fewer than two dimensions, names that end in "bias", gains of attention but those
  // for each head and dimension, and parameters named pos_embed, cls_token and dist_token
  bool decay_all = false;
  // The learning rate of a layer is that of the layer above times this.
  double layer_decay = 1.0;
  ParameterRules rules;
};

// The trainable parameters of a model, a shared one once. Groups of later layers come first, decayed before not
// decayed.
std::vector<ParameterGroup> parameter_groups(const torch::nn::Module& model, const GroupingOptions& options);

// The layer that a parameter of a vision transformer of this depth belongs to, as timm counts: 0 for the tokens,
// position and patch embeddings, i + 1 for blocks.i, the last block's also for the norm behind it, depth + 1 for the
// head.
std::int64_t layer_of(const std::string& name, std::int64_t depth);

}  // namespace quest::train
