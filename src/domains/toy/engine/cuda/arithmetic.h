#pragma once

// Vectors of kWidth numbers, layer norm and GELU, as one thread computes them.

#include <cmath>

#include "domains/toy/engine/cuda/block.h"

namespace quest::toy::engine::cuda {

inline constexpr float kNormEpsilon = 1e-5F;
inline constexpr float kLeastSquaredNorm = 1e-24F;  // of a vector that is divided by its norm

// In four parts, so that an addition need not wait for the one before it.
struct PartedSum {
  float part[4] = {};

  QUEST_HOST_DEVICE void add(int i, float value) { part[i % 4] += value; }
  QUEST_HOST_DEVICE float total() const { return (part[0] + part[1]) + (part[2] + part[3]); }
};

QUEST_HOST_DEVICE float sum(const Vector& a) {
  PartedSum parts;
  for (int i = 0; i < kWidth; ++i) parts.add(i, a[i]);
  return parts.total();
}

QUEST_HOST_DEVICE float dot(const Vector& a, const Vector& b) {
  PartedSum parts;
  for (int i = 0; i < kWidth; ++i) parts.add(i, a[i] * b[i]);
  return parts.total();
}

// Σ_o x_o w[o][column]
QUEST_HOST_DEVICE float column_dot(const float* x, const float* w, int column, int count = kWidth) {
  PartedSum parts;
  for (int o = 0; o < count; ++o) parts.add(o, x[o] * w[o * kWidth + column]);
  return parts.total();
}

// Of a layer with weights [out][kWidth], followed by their biases.
QUEST_HOST_DEVICE float linear(const float* layer, int out, int o, const float* x) {
  return layer[out * kWidth + o] + dot(vector_at(layer + o * kWidth), vector_at(x));
}

struct Normal {
  float mean;
  float inverse_deviation;

  QUEST_HOST_DEVICE explicit Normal(const Vector& x) : mean(sum(x) / kWidth) {
    Vector centred;
    for (int i = 0; i < kWidth; ++i) centred[i] = x[i] - mean;
    inverse_deviation = 1.0F / sqrtf(dot(centred, centred) / kWidth + kNormEpsilon);
  }
};

// The gradient of x, element by element, from that of hat = (x - mean)/deviation.
struct NormalGradient {
  float inverse_deviation;
  float mean;
  float along;

  QUEST_HOST_DEVICE NormalGradient(const Vector& dhat, const Vector& hat, float inverse)
      : inverse_deviation(inverse), mean(sum(dhat) / kWidth), along(dot(dhat, hat) / kWidth) {}

  QUEST_HOST_DEVICE float operator()(float dhat, float hat) const {
    return inverse_deviation * (dhat - mean - along * hat);
  }
};

QUEST_HOST_DEVICE float normal_below(float x) { return 0.5F * (1.0F + erff(0.70710678F * x)); }

QUEST_HOST_DEVICE float gelu(float x) { return x * normal_below(x); }

QUEST_HOST_DEVICE float gelu_slope(float x) { return normal_below(x) + x * 0.39894228F * expf(-0.5F * x * x); }

}  // namespace quest::toy::engine::cuda
