#pragma once

// The tiny transformer of the spurious-attention task: one block, one head, a classifier on the CLS token.

namespace quest::toy::engine {

inline constexpr int kRealDims = 10;
inline constexpr int kClasses = 10;
inline constexpr int kWidth = kRealDims + kClasses;
inline constexpr int kHidden = 20;

enum class Wiring {
  algorithm,  // Q, K, V from X; Y = LN1(X) + attention; Y = X + LN2(Y); Y = X + MLP(Y)
  pre_norm,   // Q, K, V from LN1(X); Y = X + attention; Y = Y + MLP(LN2(Y)); Y = LN3(Y)
};

enum class Gain {
  none,
  logarithm,  // exp of one learned number, at most kMostGain
  per_dim,    // a learned factor per dimension of the query and one per dimension of the key
};

inline constexpr float kFirstGain = 10.0F;
inline constexpr float kMostGain = 100.0F;

struct Model {
  Wiring wiring = Wiring::pre_norm;
  bool normalize_q = false;
  bool normalize_k = false;
  float scale = 1.0F;
  Gain gain = Gain::none;
  int tokens = 20;  // without CLS
};

}  // namespace quest::toy::engine
