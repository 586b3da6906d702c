// From what CLS attended to its class: value projection, second norm, MLP, final norm, classifier and cross-entropy,
// forward and backward. Included once per instruction set.

#include <cstdint>

#if defined(QUEST_TOY_LANE_HEAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_TOY_LANE_HEAD_INL_H_
#undef QUEST_TOY_LANE_HEAD_INL_H_
#else
#define QUEST_TOY_LANE_HEAD_INL_H_
#endif

#include "domains/toy/engine/cpu/lane_attention-inl.h"
#include "hwy/contrib/math/math-inl.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace quest::toy::engine::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Per lane, over the samples seen.
struct LaneTotals {
  LaneVector loss;
  LaneVector correct;

  LaneTotals() : loss(hn::Zero(LaneTag())), correct(hn::Zero(LaneTag())) {}
};

// All buffers are [kChunk][kWidth] but logits, [kChunk][kClasses].
struct Head {
  const ModelView& m;
  ClsRow& cls;
  float* mixed = nullptr;  // first residual stream: LN1(x) or x, plus attention
  float* hat = nullptr;
  float* inverse_deviation = nullptr;
  float* mlp_input = nullptr;
  float* hidden = nullptr;  // before GELU
  float* active = nullptr;  // after it
  float* result = nullptr;  // what is classified
  float* final_hat = nullptr;
  float* final_inverse_deviation = nullptr;
  float* logits = nullptr;
  float* probability = nullptr;
  float* gradient = nullptr;  // of result, then of the MLP's output, then of its input
  float* dhidden = nullptr;
  float* dmixed = nullptr;
  float* dpooled = nullptr;

  [[nodiscard]] LaneLinear value_layer() const { return m.linear(m.at.value, kWidth, kWidth); }
  [[nodiscard]] LaneLinear hidden_layer() const { return m.linear(m.at.hidden, kWidth, engine::kHidden); }
  [[nodiscard]] LaneLinear output_layer() const { return m.linear(m.at.output, engine::kHidden, kWidth); }
  [[nodiscard]] LaneLinear classifier() const { return m.linear(m.at.classifier, kWidth, engine::kClasses); }
  [[nodiscard]] static float* row(float* matrix, std::int64_t r) { return matrix + r * kRowFloats; }

  void forward(const float* pooled, std::int64_t count) const {
    value_layer().forward(pooled, count, mixed);
    for (std::int64_t s = 0; s < count; ++s) {
      add_rows(m.pre_norm() ? cls.x : cls.normed, 1, kWidth, row(mixed, s));
      store(m.norm(m.at.norm2).forward(row(mixed, s), row(hat, s), row(mlp_input, s)), inverse_deviation, s);
      if (!m.pre_norm()) add_rows(cls.x, 1, kWidth, row(mlp_input, s));
    }
    hidden_layer().forward(mlp_input, count, hidden);
    for (std::int64_t i = 0; i < count * engine::kHidden; ++i) store(gelu(load(hidden, i)), active, i);
    output_layer().forward(active, count, result);
    for (std::int64_t s = 0; s < count; ++s) {
      float* const y = row(result, s);
      add_rows(m.pre_norm() ? row(mixed, s) : cls.x, 1, kWidth, y);
      if (m.pre_norm()) store(m.norm(m.at.final_norm).forward(y, row(final_hat, s), y), final_inverse_deviation, s);
    }
    classifier().forward(result, count, logits);
  }

  // Adds to the totals and leaves probabilities minus the one-hot label, divided by the batch.
  void classify(const engine::TaskData& data, const int* samples, std::int64_t count, float per_batch,
                LaneTotals& totals) const {
    for (std::int64_t s = 0; s < count; ++s) {
      float* const p = probability + s * engine::kClasses * kModelLanes;
      const float* const x = logits + s * engine::kClasses * kModelLanes;
      const int label = data.label(samples[s]);
      const auto [max, sum] = softmax(x, engine::kClasses, p);
      const auto of_label = load(x, label);
      totals.loss = hn::Add(totals.loss, hn::Sub(hn::Log(LaneTag(), sum), hn::Sub(of_label, max)));
      totals.correct = hn::Add(totals.correct, hn::IfThenElseZero(hn::Ge(of_label, max), all_lanes(1.0F)));
      add_to(all_lanes(-1.0F), p, label);
      for (int c = 0; c < engine::kClasses; ++c) store(hn::Mul(load(p, c), all_lanes(per_batch)), p, c);
    }
  }

  // Leaves the gradient of the MLP's output in `gradient`, and in dmixed what goes around the MLP.
  void classifier_backward(std::int64_t count) const {
    classifier().weight_backward(result, probability, count);
    clear(gradient, count * kWidth);
    classifier().add_input_gradient(probability, count, gradient);
    clear(dmixed, count * kWidth);
    if (!m.pre_norm()) {
      add_rows(gradient, count, kWidth, cls.dx);
      return;
    }
    for (std::int64_t s = 0; s < count; ++s) {
      m.norm(m.at.final_norm)
          .backward(row(gradient, s), row(final_hat, s), load(final_inverse_deviation, s), row(dmixed, s));
    }
    copy(dmixed, count * kWidth, gradient);
  }

  void mlp_backward(std::int64_t count) const {
    output_layer().weight_backward(active, gradient, count);
    clear(dhidden, count * engine::kHidden);
    output_layer().add_input_gradient(gradient, count, dhidden);
    for (std::int64_t i = 0; i < count * engine::kHidden; ++i) {
      store(hn::Mul(load(dhidden, i), gelu_slope(load(hidden, i))), dhidden, i);
    }
    hidden_layer().weight_backward(mlp_input, dhidden, count);
    clear(gradient, count * kWidth);
    hidden_layer().add_input_gradient(dhidden, count, gradient);
    if (!m.pre_norm()) add_rows(gradient, count, kWidth, cls.dx);
  }

  // From what classify left to the gradient of `pooled`, in dpooled.
  void backward(const float* pooled, std::int64_t count) const {
    classifier_backward(count);
    mlp_backward(count);
    for (std::int64_t s = 0; s < count; ++s) {
      m.norm(m.at.norm2).backward(row(gradient, s), row(hat, s), load(inverse_deviation, s), row(dmixed, s));
    }
    add_rows(dmixed, count, kWidth, m.pre_norm() ? cls.dx : cls.dnormed);
    value_layer().weight_backward(pooled, dmixed, count);
    clear(dpooled, count * kWidth);
    value_layer().add_input_gradient(dmixed, count, dpooled);
  }
};

}  // namespace quest::toy::engine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
