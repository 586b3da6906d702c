// The passes over lanes, compiled for each instruction set.

#include "domains/toy/engine/cpu/lane_models.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "domains/toy/engine/cpu/lane_models.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "domains/toy/engine/cpu/lane_attention-inl.h"
#include "domains/toy/engine/cpu/lane_head-inl.h"
#include "hwy/highway.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace quest::toy::engine::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace {

constexpr float kFirstDecay = 0.9F;
constexpr float kSecondDecay = 0.999F;
constexpr float kAdamEpsilon = 1e-8F;

int lane_count() { return static_cast<int>(kModelLanes); }

std::vector<float> lanes_of(LaneVector v) {
  std::vector<float> values(kModelLanes);
  hn::StoreU(v, LaneTag(), values.data());
  return values;
}

// A network over the buffers of this thread.
struct Network {
  ModelView view;
  ClsRow cls{view};
  TokenRows tokens{view, cls};
  Head head{view, cls};

  // Passes forward only leave the gradient alone.
  Network(const LaneModels& models, float* gradient)
      : view{models.model, models.layout, models.weights.data(), gradient} {
    constexpr std::int64_t kRows = kChunk * kRowFloats;
    const std::int64_t vectors = kChunk * view.rows() * kModelLanes;
    kernels::cpu::Workspace::of_this_thread().provide({{&cls.x, kRowFloats},
                                                       {&cls.hat, kRowFloats},
                                                       {&cls.normed, kRowFloats},
                                                       {&cls.query, kRowFloats},
                                                       {&cls.effective, kRowFloats},
                                                       {&cls.direction, kRowFloats},
                                                       {&cls.dx, kRowFloats},
                                                       {&cls.dnormed, kRowFloats},
                                                       {&cls.dsource, kRowFloats},
                                                       {&cls.deffective, kRowFloats},
                                                       {&cls.ddirection, kRowFloats},
                                                       {&tokens.z, vectors * kWidth},
                                                       {&tokens.hat, vectors * kWidth},
                                                       {&tokens.keys, vectors * kWidth},
                                                       {&tokens.inverse_deviation, vectors},
                                                       {&tokens.inverse_norm, vectors},
                                                       {&tokens.logit, vectors},
                                                       {&tokens.probability, vectors},
                                                       {&tokens.dlogit, vectors},
                                                       {&tokens.pooled, kRows},
                                                       {&head.mixed, kRows},
                                                       {&head.hat, kRows},
                                                       {&head.inverse_deviation, kChunk * kModelLanes},
                                                       {&head.mlp_input, kRows},
                                                       {&head.hidden, kRows},
                                                       {&head.active, kRows},
                                                       {&head.result, kRows},
                                                       {&head.final_hat, kRows},
                                                       {&head.final_inverse_deviation, kChunk * kModelLanes},
                                                       {&head.logits, kRows},
                                                       {&head.probability, kRows},
                                                       {&head.gradient, kRows},
                                                       {&head.dhidden, kRows},
                                                       {&head.dmixed, kRows},
                                                       {&head.dpooled, kRows}});
    cls.forward();
  }

  // Calls visit(samples, count) after each chunk's forward pass.
  template <typename Visit>
  void for_each_chunk(const engine::TaskData& data, std::span<const int> samples, const Visit& visit) {
    for (std::size_t first = 0; first < samples.size(); first += kChunk) {
      const auto count = std::min<std::int64_t>(kChunk, static_cast<std::int64_t>(samples.size() - first));
      tokens.forward(data, samples.data() + first, count);
      visit(samples.data() + first, count);
    }
  }
};

SampleTotals batch_gradient_lanes(LaneModels& models, const engine::TaskData& data, std::span<const int> samples) {
  clear(models.gradient.data(), models.layout.count);
  Network network(models, models.gradient.data());
  network.cls.clear_gradients();
  LaneTotals totals;
  const float per_batch = 1.0F / static_cast<float>(samples.size());
  network.for_each_chunk(data, samples, [&](const int* chunk, std::int64_t count) {
    network.head.forward(network.tokens.pooled, count);
    network.head.classify(data, chunk, count, per_batch, totals);
    network.head.backward(network.tokens.pooled, count);
    network.tokens.backward(network.head.dpooled, count);
  });
  network.cls.backward();
  return {lanes_of(totals.loss), lanes_of(totals.correct)};
}

void adamw_step_lanes(LaneModels& models) {
  ++models.steps;
  const auto rate = load(models.learning_rate.data(), 0);
  const auto keep = hn::NegMulAdd(rate, load(models.weight_decay.data(), 0), all_lanes(1.0F));
  const double first_missing = 1.0 - std::pow(static_cast<double>(kFirstDecay), models.steps);
  const double second_missing = 1.0 - std::pow(static_cast<double>(kSecondDecay), models.steps);
  const auto step = hn::Mul(rate, all_lanes(static_cast<float>(1.0 / first_missing)));
  const auto root_factor = all_lanes(static_cast<float>(1.0 / std::sqrt(second_missing)));
  for (int i = 0; i < models.layout.count; ++i) {
    const auto g = load(models.gradient.data(), i);
    const auto m = hn::MulAdd(all_lanes(1.0F - kFirstDecay), hn::Sub(g, load(models.first_moment.data(), i)),
                              load(models.first_moment.data(), i));
    const auto v = hn::MulAdd(all_lanes(1.0F - kSecondDecay), hn::Mul(g, g),
                              hn::Mul(all_lanes(kSecondDecay), load(models.second_moment.data(), i)));
    store(m, models.first_moment.data(), i);
    store(v, models.second_moment.data(), i);
    const auto root = hn::MulAdd(hn::Sqrt(v), root_factor, all_lanes(kAdamEpsilon));
    const auto decayed = hn::Mul(keep, load(models.weights.data(), i));
    store(hn::NegMulAdd(step, hn::Div(m, root), decayed), models.weights.data(), i);
  }
}

SampleTotals evaluate_lanes(const LaneModels& models, const engine::TaskData& data) {
  Network network(models, nullptr);
  std::vector<int> samples(data.samples);
  std::iota(samples.begin(), samples.end(), 0);
  LaneTotals totals;
  network.for_each_chunk(data, samples, [&](const int* chunk, std::int64_t count) {
    network.head.forward(network.tokens.pooled, count);
    network.head.classify(data, chunk, count, 1.0F, totals);
  });
  return {lanes_of(totals.loss), lanes_of(totals.correct)};
}

struct LaneMean {
  LaneVector sum;
  int count = 0;

  LaneMean() : sum(hn::Zero(LaneTag())) {}

  void add(LaneVector value) {
    sum = hn::Add(sum, value);
    ++count;
  }
  [[nodiscard]] std::vector<float> lanes() const {
    return lanes_of(hn::Div(sum, all_lanes(static_cast<float>(std::max(count, 1)))));
  }
};

LaneVector entropy_of(const float* probability, std::int64_t count) {
  auto sum = hn::Zero(LaneTag());
  for (std::int64_t i = 0; i < count; ++i) {
    const auto p = load(probability, i);
    const auto log = hn::Log(LaneTag(), hn::Max(p, all_lanes(1e-30F)));
    sum = hn::NegMulAdd(p, log, sum);
  }
  return sum;
}

Probe probe_lanes(const LaneModels& models, const engine::TaskData& data, int count_of_samples) {
  Network network(models, nullptr);
  std::vector<int> samples(std::min(count_of_samples, data.samples));
  std::iota(samples.begin(), samples.end(), 0);
  LaneMean biased, unbiased, other, entropy;
  const TokenRows& tokens = network.tokens;
  const std::int64_t rows = network.view.rows();
  network.for_each_chunk(data, samples, [&](const int* chunk, std::int64_t count) {
    network.view.key().forward(tokens.z, count * rows, tokens.keys);
    for (std::int64_t s = 0; s < count; ++s) {
      entropy.add(entropy_of(tokens.of_sample(tokens.probability, s), rows));
      for (int t = 0; t < data.tokens; ++t) {
        const float* const key = tokens.row(tokens.keys, s * rows + 1 + t);
        LaneMean& kind = t != data.answer[chunk[s]] ? other : data.biased[chunk[s]] == 1 ? biased : unbiased;
        kind.add(hn::Sqrt(dot(key, key)));
      }
    }
  });
  return {.biased_key_norm = biased.lanes(),
          .unbiased_key_norm = unbiased.lanes(),
          .other_key_norm = other.lanes(),
          .query_norm = lanes_of(network.cls.query_norm),
          .entropy = entropy.lanes()};
}

}  // namespace
}  // namespace quest::toy::engine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::toy::engine::cpu {
namespace {
constexpr std::align_val_t kVectorAlignment{64};
}

HWY_EXPORT(lane_count);
HWY_EXPORT(batch_gradient_lanes);
HWY_EXPORT(adamw_step_lanes);
HWY_EXPORT(evaluate_lanes);
HWY_EXPORT(probe_lanes);

LaneFloats::LaneFloats(std::size_t count)
    : memory_(static_cast<float*>(::operator new(count * sizeof(float), kVectorAlignment))) {
  std::fill_n(memory_.get(), count, 0.0F);
}

void LaneFloats::Free::operator()(float* memory) const { ::operator delete(memory, kVectorAlignment); }

int model_lanes() { return HWY_DYNAMIC_DISPATCH(lane_count)(); }

LaneModels::LaneModels(const engine::Model& switches, int lane_number)
    : model(switches),
      layout(switches.tokens),
      lanes(lane_number),
      weights(static_cast<std::size_t>(layout.count) * lanes),
      gradient(static_cast<std::size_t>(layout.count) * lanes),
      first_moment(static_cast<std::size_t>(layout.count) * lanes),
      second_moment(static_cast<std::size_t>(layout.count) * lanes),
      learning_rate(lanes),
      weight_decay(lanes) {}

void LaneModels::set_lane(int lane, std::span<const float> parameters, float lane_learning_rate,
                          float lane_weight_decay) {
  for (std::size_t i = 0; i < parameters.size(); ++i) weights[i * lanes + lane] = parameters[i];
  learning_rate[lane] = lane_learning_rate;
  weight_decay[lane] = lane_weight_decay;
}

SampleTotals batch_gradient(LaneModels& models, const engine::TaskData& data, std::span<const int> samples) {
  return HWY_DYNAMIC_DISPATCH(batch_gradient_lanes)(models, data, samples);
}

void adamw_step(LaneModels& models) { HWY_DYNAMIC_DISPATCH(adamw_step_lanes)(models); }

SampleTotals evaluate(const LaneModels& models, const engine::TaskData& data) {
  return HWY_DYNAMIC_DISPATCH(evaluate_lanes)(models, data);
}

Probe probe(const LaneModels& models, const engine::TaskData& data, int samples) {
  return HWY_DYNAMIC_DISPATCH(probe_lanes)(models, data, samples);
}

}  // namespace quest::toy::engine::cpu
#endif
