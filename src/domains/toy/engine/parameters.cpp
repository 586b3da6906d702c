#include "domains/toy/engine/parameters.h"

#include <algorithm>
#include <cmath>

#include "domains/toy/engine/streams.h"

namespace quest::toy::engine {
namespace {

constexpr double kEmbeddingDeviation = 0.02;

void fill_linear(float* parameters, int in, int out, base::Random& random) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(in));
  std::generate_n(parameters, out * (in + 1),
                  [&] { return static_cast<float>(bound * (2.0 * random.uniform() - 1.0)); });
}

}  // namespace

std::vector<float> initial_parameters(int tokens, std::uint64_t seed, std::uint64_t initialization) {
  const Layout at(tokens);
  std::vector<float> parameters(at.count, 0.0F);
  float* const p = parameters.data();
  base::Random random(seed, {kInitialization, initialization});
  std::generate_n(p + at.cls, (tokens + 2) * kWidth,
                  [&] { return static_cast<float>(kEmbeddingDeviation * random.normal()); });
  for (const int layer : {at.query, at.key, at.value}) fill_linear(p + layer, kWidth, kWidth, random);
  fill_linear(p + at.hidden, kWidth, kHidden, random);
  fill_linear(p + at.output, kHidden, kWidth, random);
  fill_linear(p + at.classifier, kWidth, kClasses, random);
  for (const int factors : {at.norm1, at.norm2, at.final_norm, at.query_gain, at.key_gain})
    std::fill_n(p + factors, kWidth, 1.0F);
  p[at.log_gain] = std::log(kFirstGain);
  return parameters;
}

}  // namespace quest::toy::engine
