#include "cli/key_growth.h"

#include <ATen/Functions.h>
#include <torch/types.h>

#include <cmath>

#include "quest/attention.h"

namespace quest::cli {
namespace {

constexpr std::uint64_t kSeed = 7;

// Orthonormal rows: the first half serve as key directions, the rest as what is individual about each query.
at::Tensor orthonormal_rows(std::int64_t rows) {
  return std::get<0>(at::linalg_qr(at::randn({kGrowthDim, rows}))).t().contiguous();
}

struct Scene {
  at::Tensor queries;         // [1, 1, queries, dim]
  at::Tensor key_directions;  // [keys, dim]
};

Scene make_scene() {
  torch::manual_seed(kSeed);
  const auto basis = orthonormal_rows(kGrowthKeys + kGrowthQueries);
  const auto directions = basis.narrow(0, 0, kGrowthKeys);
  const auto individual = basis.narrow(0, kGrowthKeys, kGrowthQueries);
  const double rest =
      std::sqrt(1.0 - kGrowthMatchCosine * kGrowthMatchCosine - kGrowthStrangerCosine * kGrowthStrangerCosine);
  const auto unit_queries = kGrowthMatchCosine * directions.narrow(0, 0, kGrowthQueries) +
                            kGrowthStrangerCosine * directions.narrow(0, kGrowthKeys - 1, 1) + rest * individual;
  return {.queries = (kGrowthQueryNorm * unit_queries).view({1, 1, kGrowthQueries, kGrowthDim}),
          .key_directions = directions};
}

at::Tensor keys_with_last_norm(const Scene& scene, double norm) {
  auto norms = at::full({kGrowthKeys, 1}, std::sqrt(static_cast<double>(kGrowthDim)));
  norms.narrow(0, kGrowthKeys - 1, 1).fill_(norm);
  return (scene.key_directions * norms).view({1, 1, kGrowthKeys, kGrowthDim});
}

struct Observation {
  at::Tensor weights;  // [queries, keys]
  AttentionReading reading;
};

Observation observe(const Scene& scene, const at::Tensor& keys, const Formulation& formulation) {
  // With the identity as values, the output of attention is the attention matrix itself.
  const auto values = at::eye(kGrowthKeys).view({1, 1, kGrowthKeys, kGrowthKeys});
  AttentionOptions options;
  options.formulation = formulation;
  const auto result = attention_with_stats(scene.queries, keys, values, options);
  const auto weights = result.output.view({kGrowthQueries, kGrowthKeys}).contiguous();
  const auto* first = weights.const_data_ptr<float>();
  return {.weights = weights,
          .reading = {.mass = result.stats.key_mass.flatten()[kGrowthKeys - 1].item<double>() / kGrowthQueries,
                      .entropy = result.stats.entropy.mean().item<double>(),
                      .max_logit = result.stats.max_logit.max().item<double>(),
                      .change = 0.0,
                      .first_query = {first, first + kGrowthKeys}}};
}

}  // namespace

std::vector<KeyGrowth> grow_one_key(std::span<const double> norms) {
  const at::NoGradGuard inference;
  const auto scene = make_scene();
  std::vector<KeyGrowth> growth;
  at::Tensor first_standard;
  at::Tensor first_quest;
  for (const double norm : norms) {
    const auto keys = keys_with_last_norm(scene, norm);
    auto standard = observe(scene, keys, formulations::standard);
    auto quest = observe(scene, keys, formulations::quest);
    if (growth.empty()) {
      first_standard = standard.weights;
      first_quest = quest.weights;
    }
    standard.reading.change = ((standard.weights - first_standard).norm() / first_standard.norm()).item<double>();
    quest.reading.change = ((quest.weights - first_quest).norm() / first_quest.norm()).item<double>();
    growth.push_back({.key_norm = norm, .standard = standard.reading, .quest = quest.reading});
  }
  return growth;
}

}  // namespace quest::cli
