#include "domains/toy/engine/task_data.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "domains/toy/engine/streams.h"

namespace quest::toy::engine {
namespace {

constexpr double kPositionMean = 10.0;
constexpr double kPositionDeviation = 2.0;
constexpr double kBiasedVariance = 0.1;
constexpr double kBiasedShare = 0.5;

using RealPart = std::array<double, kRealDims>;

RealPart normal_vector(base::Random& random) {
  RealPart x{};
  for (double& value : x) value = random.normal();
  return x;
}

struct AnswerLaw {
  std::array<RealPart, kRealDims> s{};
  RealPart b{};

  explicit AnswerLaw(base::Random random) {
    for (RealPart& row : s) row = normal_vector(random);
    b = unbiased(random);
  }

  // S z has covariance S Sᵀ.
  RealPart unbiased(base::Random& random) const {
    const RealPart z = normal_vector(random);
    RealPart x{};
    for (int i = 0; i < kRealDims; ++i) x[i] = std::inner_product(z.begin(), z.end(), s[i].begin(), 0.0);
    return x;
  }

  RealPart biased(base::Random& random) const {
    RealPart x = normal_vector(random);
    for (int i = 0; i < kRealDims; ++i) x[i] = b[i] + std::sqrt(kBiasedVariance) * x[i];
    return x;
  }
};

TaskData draw_samples(const AnswerLaw& law, int tokens, int samples, double biased_share, base::Random random) {
  TaskData data{.tokens = tokens, .samples = samples};
  data.real.reserve(static_cast<std::size_t>(samples) * tokens * kRealDims);
  for (int s = 0; s < samples; ++s) {
    const int position = static_cast<int>(kPositionMean + kPositionDeviation * random.normal());
    data.answer.push_back(std::clamp(position, 0, tokens - 1));
    data.biased.push_back(random.uniform() < biased_share ? 1 : 0);
    for (int t = 0; t < tokens; ++t) {
      const RealPart x = t != data.answer.back()   ? normal_vector(random)
                         : data.biased.back() == 1 ? law.biased(random)
                                                   : law.unbiased(random);
      data.real.insert(data.real.end(), x.begin(), x.end());
      data.classes.push_back(static_cast<std::uint8_t>(random.below(kClasses)));
    }
  }
  return data;
}

}  // namespace

Realization draw_realization(const TaskSizes& sizes, std::uint64_t seed, std::uint64_t realization) {
  const AnswerLaw law(base::Random(seed, {kDistribution, realization}));
  return {.training = draw_samples(law, sizes.tokens, sizes.training_samples, kBiasedShare,
                                   base::Random(seed, {kTrainingSamples, realization})),
          .test = draw_samples(law, sizes.tokens, sizes.test_samples, 0.0,
                               base::Random(seed, {kTestSamples, realization}))};
}

std::vector<int> batch_order(int samples, std::uint64_t seed, std::uint64_t realization, std::uint64_t epoch) {
  std::vector<int> order(samples);
  std::iota(order.begin(), order.end(), 0);
  base::Random random(seed, {kBatchOrder, realization, epoch});
  for (int i = samples - 1; i > 0; --i) std::swap(order[i], order[random.below(i + 1)]);
  return order;
}

}  // namespace quest::toy::engine
