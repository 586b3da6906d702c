#pragma once

// Weights by name into a model: public ViT and DeiT files, or checkpoints of this library.

#include <torch/nn/module.h>

#include <string>
#include <utility>
#include <vector>

#include "quest/export.h"

namespace quest::models {

using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

// A model that can take weights made for another size implements this.
class QUEST_API AdaptsWeights {
 public:
  virtual ~AdaptsWeights() = default;

  // The tensor of that name as this model needs it, or as given where the model has no rule for it.
  [[nodiscard]] virtual at::Tensor adapt_weight(const std::string& name, const at::Tensor& given) const = 0;
};

struct LoadOptions {
  std::vector<std::string> keep = {};  // parameters whose name starts with one of these keep their values: "head."
};

// Copies every parameter and buffer of the model from the weights of the same name. Names may carry the prefixes of
// other programs ("module.", "model.", "state_dict."), layer scales their older names (gamma_1, gamma_2), tokens of a
// CrossViT those of timm (cls_token_0); learned gains may be absent. Throws c10::Error that lists what is missing, what
// is unexpected and which shapes differ, and changes nothing then.
QUEST_API void load_weights_into(torch::nn::Module& model, const NamedTensors& weights,
                                 const LoadOptions& options = {});

}  // namespace quest::models
