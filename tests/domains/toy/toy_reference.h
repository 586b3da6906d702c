#pragma once

// One model of the spurious-attention task in plain LibTorch: every token goes through the whole block, autograd does
// the rest. The oracle of the sweep engine.

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "domains/toy/engine/model.h"
#include "domains/toy/engine/task_data.h"

namespace quest::testing {

class ToyReference {
 public:
  // The parameters in the order of toy::engine::Layout.
  ToyReference(const toy::engine::Model& model, std::span<const float> parameters, at::ScalarType dtype);

  // inputs [batch, tokens, width] -> [batch, classes]
  [[nodiscard]] at::Tensor logits(const at::Tensor& inputs) const;

  // The attention of CLS; norms before any normalisation.
  struct Attended {
    at::Tensor query_norm;  // [batch]
    at::Tensor key_norms;   // [batch, tokens + 1], CLS first
    at::Tensor entropy;     // [batch]
  };
  [[nodiscard]] Attended attended(const at::Tensor& inputs) const;

  [[nodiscard]] const std::vector<at::Tensor>& parameters() const { return parameters_; }
  // One after the other, in the order of the layout; zeros where there is no gradient.
  [[nodiscard]] at::Tensor flat_parameters() const;
  [[nodiscard]] at::Tensor flat_gradient() const;

 private:
  struct Layer {
    at::Tensor weight;
    at::Tensor bias;

    [[nodiscard]] at::Tensor linear(const at::Tensor& x) const;
    [[nodiscard]] at::Tensor norm(const at::Tensor& x) const;
  };

  at::Tensor next_parameter(std::span<const float>& values, at::IntArrayRef shape, at::ScalarType dtype);
  [[nodiscard]] at::Tensor with_cls(const at::Tensor& inputs) const;
  [[nodiscard]] at::Tensor probabilities(at::Tensor q, at::Tensor k) const;
  [[nodiscard]] at::Tensor attention(const at::Tensor& source) const;

  toy::engine::Model model_;
  std::vector<at::Tensor> parameters_;
  at::Tensor cls_, positions_, query_gain_, key_gain_, log_gain_;
  Layer norm1_, query_, key_, value_, norm2_, hidden_, output_, final_norm_, classifier_;
};

// [samples, tokens, width] and [samples].
struct ToyTensors {
  at::Tensor inputs;
  at::Tensor labels;
};
[[nodiscard]] ToyTensors tensors_of(const toy::engine::TaskData& data, at::ScalarType dtype);

}  // namespace quest::testing
