#pragma once

// Where each parameter of a model lies, and what it starts from. All models share one layout: a gain that a
// formulation does not use, or a norm that a wiring does not, receives no gradient and is never read.

#include <cstdint>
#include <vector>

#include "domains/toy/engine/model.h"

namespace quest::toy::engine {

// Weights are [out][in], followed by their biases.
struct Layout {
  explicit constexpr Layout(int tokens) : positions(kWidth) {
    int next = positions + (tokens + 1) * kWidth;
    const auto take = [&next](int floats) {
      const int first = next;
      next += floats;
      return first;
    };
    norm1 = take(2 * kWidth);
    query = take(kWidth * (kWidth + 1));
    key = take(kWidth * (kWidth + 1));
    value = take(kWidth * (kWidth + 1));
    norm2 = take(2 * kWidth);
    hidden = take(kHidden * (kWidth + 1));
    output = take(kWidth * (kHidden + 1));
    final_norm = take(2 * kWidth);
    classifier = take(kClasses * (kWidth + 1));
    query_gain = take(kWidth);
    key_gain = take(kWidth);
    log_gain = take(1);
    count = next;
  }

  int cls = 0;
  int positions;  // [tokens + 1][kWidth], CLS first
  int norm1 = 0;  // factors, then offsets
  int query = 0;
  int key = 0;
  int value = 0;
  int norm2 = 0;
  int hidden = 0;
  int output = 0;
  int final_norm = 0;
  int classifier = 0;
  int query_gain = 0;
  int key_gain = 0;
  int log_gain = 0;
  int count = 0;
};

// As PyTorch's layers start: linear layers uniform in ±1/√in, layer norms at 1 and 0; CLS and positions from
// Normal(0, 0.02), gains per dimension at 1.
[[nodiscard]] std::vector<float> initial_parameters(int tokens, std::uint64_t seed, std::uint64_t initialization);

}  // namespace quest::toy::engine
