// Attention of the CLS token over the rows of a few samples, forward and backward. Included once per instruction set.
//
// Only CLS is classified and there is one block, so the only query is that of CLS, the same for every sample of a
// batch; the values enter as W_V Σ_j a_j z_j + b_V; and keys that are not normalised as (W_Kᵀ e)·z_j, where e is the
// query with scale and gain. What such a key's bias adds is the same for all rows and leaves the softmax as it is.

#include <cmath>
#include <cstdint>

#if defined(QUEST_TOY_LANE_ATTENTION_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef QUEST_TOY_LANE_ATTENTION_INL_H_
#undef QUEST_TOY_LANE_ATTENTION_INL_H_
#else
#define QUEST_TOY_LANE_ATTENTION_INL_H_
#endif

#include "domains/toy/engine/cpu/lane_layers-inl.h"
#include "domains/toy/engine/parameters.h"
#include "domains/toy/engine/task_data.h"
#include "hwy/highway.h"
#include "kernels/cpu/workspace.h"

HWY_BEFORE_NAMESPACE();
namespace quest::toy::engine::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Samples that go through the network together: enough rows for a tile, few enough for the second-level cache.
constexpr std::int64_t kChunk = 4;
constexpr std::int64_t kRowFloats = kWidth * kModelLanes;

struct ModelView {
  engine::Model model;
  engine::Layout at;
  const float* weights;
  float* gradient;

  [[nodiscard]] const float* weight(int offset) const { return weights + offset * kModelLanes; }
  [[nodiscard]] float* gradient_of(int offset) const { return gradient + offset * kModelLanes; }
  [[nodiscard]] LaneLinear linear(int offset, int in, int out) const {
    return {in, out, weight(offset), gradient_of(offset)};
  }
  [[nodiscard]] LaneLinear key() const { return linear(at.key, kWidth, kWidth); }
  [[nodiscard]] LaneNorm norm(int offset) const { return {weight(offset), gradient_of(offset)}; }
  [[nodiscard]] bool pre_norm() const { return model.wiring == engine::Wiring::pre_norm; }
  [[nodiscard]] std::int64_t rows() const { return model.tokens + 1; }
};

// The CLS row and its query, for one batch.
struct ClsRow {
  const ModelView& m;
  float* x = nullptr;  // CLS and its position
  float* hat = nullptr;
  float* normed = nullptr;     // LN1(x)
  float* query = nullptr;      // divided by its norm where the formulation says so
  float* effective = nullptr;  // with scale and gain
  float* direction = nullptr;  // W_Kᵀ effective, for keys that are not normalised
  float* dx = nullptr;
  float* dnormed = nullptr;
  float* dsource = nullptr;  // of source() as a row like any other
  float* deffective = nullptr;
  float* ddirection = nullptr;
  LaneVector inverse_deviation{};
  LaneVector query_norm{};

  // What queries, keys and values are made of.
  [[nodiscard]] const float* source() const { return m.pre_norm() ? normed : x; }

  [[nodiscard]] LaneVector gain(int i) const {
    switch (m.model.gain) {
      case engine::Gain::logarithm: {
        const auto most = all_lanes(std::log(engine::kMostGain));
        return exp2_or_zero(LaneTag(), hn::Mul(hn::Min(load(m.weight(m.at.log_gain), 0), most), all_lanes(kLog2E)));
      }
      case engine::Gain::per_dim:
        return hn::Mul(load(m.weight(m.at.query_gain), i), load(m.weight(m.at.key_gain), i));
      case engine::Gain::none:
        break;
    }
    return all_lanes(m.model.scale);
  }

  void forward() {
    for (int i = 0; i < kWidth; ++i)
      store(hn::Add(load(m.weight(m.at.cls), i), load(m.weight(m.at.positions), i)), x, i);
    inverse_deviation = m.norm(m.at.norm1).forward(x, hat, normed);
    m.linear(m.at.query, kWidth, kWidth).forward(source(), 1, query);
    query_norm = hn::Sqrt(hn::Max(dot(query, query), all_lanes(kLeastSquaredNorm)));
    if (m.model.normalize_q) make_unit(query);
    for (int i = 0; i < kWidth; ++i) store(hn::Mul(gain(i), load(query, i)), effective, i);
    if (m.model.normalize_k) return;
    clear(direction, kWidth);
    m.key().add_input_gradient(effective, 1, direction);
  }

  void clear_gradients() const {
    for (float* row : {dx, dnormed, dsource, deffective, ddirection}) clear(row, kWidth);
  }

  void gain_backward() const {
    if (m.model.gain == engine::Gain::none) return;
    for (int i = 0; i < kWidth; ++i) {
      const auto dgain = hn::Mul(load(deffective, i), load(query, i));
      if (m.model.gain == engine::Gain::per_dim) {
        add_to(hn::Mul(dgain, load(m.weight(m.at.key_gain), i)), m.gradient_of(m.at.query_gain), i);
        add_to(hn::Mul(dgain, load(m.weight(m.at.query_gain), i)), m.gradient_of(m.at.key_gain), i);
      } else {
        const auto open = hn::Le(load(m.weight(m.at.log_gain), 0), all_lanes(std::log(engine::kMostGain)));
        add_to(hn::IfThenElseZero(open, hn::Mul(dgain, gain(i))), m.gradient_of(m.at.log_gain), 0);
      }
    }
  }

  // After all samples have added to the gradients above.
  void backward() const {
    if (!m.model.normalize_k) {
      add_product(kWidth, kWidth, 1, {effective, 1, 1}, {ddirection, 1, 1}, m.gradient_of(m.at.key));
      add_product(1, kWidth, kWidth, {ddirection, 1, 1}, {m.weight(m.at.key), 1, kWidth}, deffective);
    }
    gain_backward();
    float* const dquery = deffective;
    for (int i = 0; i < kWidth; ++i) store(hn::Mul(gain(i), load(deffective, i)), dquery, i);
    if (m.model.normalize_q) {
      const auto along = dot(query, dquery);
      for (int i = 0; i < kWidth; ++i) {
        store(hn::Div(hn::NegMulAdd(along, load(query, i), load(dquery, i)), query_norm), dquery, i);
      }
    }
    const auto projection = m.linear(m.at.query, kWidth, kWidth);
    projection.weight_backward(source(), dquery, 1);
    projection.add_input_gradient(dquery, 1, dsource);
    add_rows(dsource, 1, kWidth, m.pre_norm() ? dnormed : dx);
    m.norm(m.at.norm1).backward(dnormed, hat, inverse_deviation, dx);
    add_rows(dx, 1, kWidth, m.gradient_of(m.at.cls));
    add_rows(dx, 1, kWidth, m.gradient_of(m.at.positions));
  }
};

struct TokenRows {
  const ModelView& m;
  ClsRow& cls;
  float* z = nullptr;    // [kChunk][rows][kWidth], CLS first; backward leaves their gradients here
  float* hat = nullptr;  // the same, before LN1's factors
  float* inverse_deviation = nullptr;
  float* keys = nullptr;  // unit keys; backward leaves their gradients here
  float* inverse_norm = nullptr;
  float* logit = nullptr;
  float* probability = nullptr;
  float* dlogit = nullptr;
  float* pooled = nullptr;  // [kChunk][kWidth], Σ_j a_j z_j

  [[nodiscard]] float* row(float* matrix, std::int64_t r) const { return matrix + r * kRowFloats; }
  [[nodiscard]] float* of_sample(float* vectors, std::int64_t s) const { return vectors + s * m.rows() * kModelLanes; }

  void build_sample(const engine::TaskData& data, int sample, std::int64_t s) const {
    const std::int64_t first = s * m.rows();
    copy(cls.source(), kWidth, row(z, first));
    for (int t = 0; t < data.tokens; ++t) {
      const std::int64_t token = static_cast<std::int64_t>(sample) * data.tokens + t;
      const float* const real = data.real.data() + token * engine::kRealDims;
      const float* const position = m.weight(m.at.positions + (t + 1) * kWidth);
      float* const x = row(z, first + 1 + t);
      for (int i = 0; i < engine::kRealDims; ++i) store(hn::Add(all_lanes(real[i]), load(position, i)), x, i);
      for (int i = engine::kRealDims; i < kWidth; ++i) store(load(position, i), x, i);
      add_to(all_lanes(1.0F), x, engine::kRealDims + data.classes[token]);
      if (!m.pre_norm()) continue;
      store(m.norm(m.at.norm1).forward(x, row(hat, first + 1 + t), x), inverse_deviation, first + 1 + t);
    }
  }

  void forward(const engine::TaskData& data, const int* samples, std::int64_t count) const {
    for (std::int64_t s = 0; s < count; ++s) build_sample(data, samples[s], s);
    const std::int64_t rows = count * m.rows();
    if (m.model.normalize_k) {
      m.key().forward(z, rows, keys);
      for (std::int64_t r = 0; r < rows; ++r) {
        store(make_unit(row(keys, r)), inverse_norm, r);
        store(dot(cls.effective, row(keys, r)), logit, r);
      }
    } else {
      for (std::int64_t r = 0; r < rows; ++r) store(dot(cls.direction, row(z, r)), logit, r);
    }
    clear(pooled, count * kWidth);
    for (std::int64_t s = 0; s < count; ++s) {
      softmax(of_sample(logit, s), m.rows(), of_sample(probability, s));
      add_product(1, kWidth, m.rows(), {of_sample(probability, s), 0, 1}, {row(z, s * m.rows()), kWidth, 1},
                  row(pooled, s));
    }
  }

  void softmax_backward(const float* dpooled, std::int64_t s) const {
    const std::int64_t first = s * m.rows();
    auto mean = hn::Zero(LaneTag());
    for (std::int64_t r = first; r < first + m.rows(); ++r) {
      const auto dprobability = dot(dpooled, row(z, r));
      store(dprobability, dlogit, r);
      mean = hn::MulAdd(load(probability, r), dprobability, mean);
    }
    for (std::int64_t r = first; r < first + m.rows(); ++r) {
      store(hn::Mul(load(probability, r), hn::Sub(load(dlogit, r), mean)), dlogit, r);
    }
  }

  // Leaves the gradients of the rows through their keys in z, on top of those through their values.
  void keys_backward(const float* dpooled, std::int64_t count) const {
    const std::int64_t rows = count * m.rows();
    if (m.model.normalize_k) {
      add_product(1, kWidth, rows, {dlogit, 0, 1}, {keys, kWidth, 1}, cls.deffective);
      for (std::int64_t r = 0; r < rows; ++r) {
        const auto factor = hn::Mul(load(dlogit, r), load(inverse_norm, r));
        const auto along = load(logit, r);
        for (int i = 0; i < kWidth; ++i) {
          const auto across = hn::NegMulAdd(along, load(row(keys, r), i), load(cls.effective, i));
          store(hn::Mul(factor, across), row(keys, r), i);
        }
      }
      m.key().weight_backward(z, keys, rows);
    } else {
      add_product(1, kWidth, rows, {dlogit, 0, 1}, {z, kWidth, 1}, cls.ddirection);
    }
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const h = dpooled + r / m.rows() * kRowFloats;
      for (int i = 0; i < kWidth; ++i) store(hn::Mul(load(probability, r), load(h, i)), row(z, r), i);
    }
    if (m.model.normalize_k) {
      m.key().add_input_gradient(keys, rows, z);
    } else {
      add_product(rows, kWidth, 1, {dlogit, 1, 0}, {cls.direction, 0, 1}, z);
    }
  }

  void backward(const float* dpooled, std::int64_t count) const {
    for (std::int64_t s = 0; s < count; ++s) softmax_backward(dpooled + s * kRowFloats, s);
    keys_backward(dpooled, count);
    for (std::int64_t r = 0; r < count * m.rows(); ++r) {
      const auto place = static_cast<int>(r % m.rows());
      float* const dposition = m.gradient_of(m.at.positions + place * kWidth);
      if (place == 0) {
        add_rows(row(z, r), 1, kWidth, cls.dsource);
      } else if (m.pre_norm()) {
        m.norm(m.at.norm1).backward(row(z, r), row(hat, r), load(inverse_deviation, r), dposition);
      } else {
        add_rows(row(z, r), 1, kWidth, dposition);
      }
    }
  }
};

}  // namespace quest::toy::engine::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
