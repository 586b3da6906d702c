#include "tests/domains/toy/toy_reference.h"

#include <torch/torch.h>

#include <cmath>

namespace quest::testing {
namespace F = torch::nn::functional;
using toy::engine::Gain;
using toy::engine::kClasses;
using toy::engine::kHidden;
using toy::engine::kRealDims;
using toy::engine::kWidth;
using toy::engine::Wiring;

at::Tensor ToyReference::next_parameter(std::span<const float>& values, at::IntArrayRef shape, at::ScalarType dtype) {
  auto tensor = torch::empty(shape, torch::kFloat32);
  std::copy_n(values.begin(), tensor.numel(), tensor.data_ptr<float>());
  values = values.subspan(static_cast<std::size_t>(tensor.numel()));
  parameters_.push_back(tensor.to(dtype).set_requires_grad(true));
  return parameters_.back();
}

ToyReference::ToyReference(const toy::engine::Model& model, std::span<const float> parameters, at::ScalarType dtype)
    : model_(model) {
  const auto next = [&](at::IntArrayRef shape) { return next_parameter(parameters, shape, dtype); };
  const auto next_layer = [&](int out, int in) {
    const auto weight = next({out, in});
    return Layer{weight, next({out})};
  };
  const auto next_norm = [&] {
    const auto weight = next({kWidth});
    return Layer{weight, next({kWidth})};
  };
  cls_ = next({1, 1, kWidth});
  positions_ = next({model.tokens + 1, kWidth});
  norm1_ = next_norm();
  query_ = next_layer(kWidth, kWidth);
  key_ = next_layer(kWidth, kWidth);
  value_ = next_layer(kWidth, kWidth);
  norm2_ = next_norm();
  hidden_ = next_layer(kHidden, kWidth);
  output_ = next_layer(kWidth, kHidden);
  final_norm_ = next_norm();
  classifier_ = next_layer(kClasses, kWidth);
  query_gain_ = next({kWidth});
  key_gain_ = next({kWidth});
  log_gain_ = next({1});
}

at::Tensor ToyReference::Layer::linear(const at::Tensor& x) const { return F::linear(x, weight, bias); }

at::Tensor ToyReference::Layer::norm(const at::Tensor& x) const { return torch::layer_norm(x, {kWidth}, weight, bias); }

at::Tensor ToyReference::with_cls(const at::Tensor& inputs) const {
  return torch::cat({cls_.expand({inputs.size(0), 1, kWidth}), inputs}, 1) + positions_;
}

at::Tensor ToyReference::probabilities(at::Tensor q, at::Tensor k) const {
  const auto unit = F::NormalizeFuncOptions().dim(-1);
  if (model_.normalize_q) q = F::normalize(q, unit);
  if (model_.normalize_k) k = F::normalize(k, unit);
  if (model_.gain == Gain::per_dim) {
    q = q * query_gain_;
    k = k * key_gain_;
  }
  if (model_.gain == Gain::logarithm) q = q * log_gain_.clamp_max(std::log(toy::engine::kMostGain)).exp();
  return torch::softmax(torch::matmul(q, k.transpose(1, 2)) * model_.scale, -1);
}

at::Tensor ToyReference::attention(const at::Tensor& source) const {
  return torch::matmul(probabilities(query_.linear(source), key_.linear(source)), value_.linear(source));
}

at::Tensor ToyReference::logits(const at::Tensor& inputs) const {
  const auto mlp = [this](const at::Tensor& x) { return output_.linear(torch::gelu(hidden_.linear(x))); };
  const auto x = with_cls(inputs);
  const auto x_normed = norm1_.norm(x);
  at::Tensor y;
  if (model_.wiring == Wiring::algorithm) {
    y = x_normed + attention(x);
    y = x + norm2_.norm(y);
    y = x + mlp(y);
  } else {
    y = x + attention(x_normed);
    y = y + mlp(norm2_.norm(y));
    y = final_norm_.norm(y);
  }
  return classifier_.linear(y.select(1, 0));
}

ToyReference::Attended ToyReference::attended(const at::Tensor& inputs) const {
  const auto x = with_cls(inputs);
  const auto source = model_.wiring == Wiring::algorithm ? x : norm1_.norm(x);
  const auto q = query_.linear(source.narrow(1, 0, 1));
  const auto k = key_.linear(source);
  const auto p = probabilities(q, k).select(1, 0);
  return {.query_norm = q.select(1, 0).norm(2, -1), .key_norms = k.norm(2, -1), .entropy = -torch::xlogy(p, p).sum(-1)};
}

at::Tensor ToyReference::flat_parameters() const {
  std::vector<at::Tensor> flat;
  for (const auto& parameter : parameters_) flat.push_back(parameter.detach().flatten());
  return torch::cat(flat);
}

at::Tensor ToyReference::flat_gradient() const {
  std::vector<at::Tensor> flat;
  for (const auto& parameter : parameters_) {
    const auto& gradient = parameter.grad();
    flat.push_back(gradient.defined() ? gradient.flatten() : torch::zeros_like(parameter).flatten());
  }
  return torch::cat(flat);
}

ToyTensors tensors_of(const toy::engine::TaskData& data, at::ScalarType dtype) {
  auto inputs = torch::zeros({data.samples, data.tokens, kWidth}, torch::kFloat32);
  auto labels = torch::zeros({data.samples}, torch::kInt64);
  auto input = inputs.accessor<float, 3>();
  for (int s = 0; s < data.samples; ++s) {
    labels.data_ptr<std::int64_t>()[s] = data.label(s);
    for (int t = 0; t < data.tokens; ++t) {
      const std::int64_t token = static_cast<std::int64_t>(s) * data.tokens + t;
      for (int i = 0; i < kRealDims; ++i) input[s][t][i] = data.real[token * kRealDims + i];
      input[s][t][kRealDims + data.classes[token]] = 1.0F;
    }
  }
  return {inputs.to(dtype), labels};
}

}  // namespace quest::testing
