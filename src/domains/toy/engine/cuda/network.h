#pragma once

// The passes of one block over one model: gradient of a batch, AdamW, evaluation, and a look at norms and entropy.

#include "domains/toy/engine/cuda/cls.h"

namespace quest::toy::engine::cuda {

inline constexpr float kFirstDecay = 0.9F;
inline constexpr float kSecondDecay = 0.999F;
inline constexpr float kAdamEpsilon = 1e-8F;

// What the zeros that moments start from have to be corrected by.
struct StepFactors {
  float first;        // 1/(1 - β₁ⁿ)
  float second_root;  // 1/√(1 - β₂ⁿ)

  explicit StepFactors(int steps)
      : first(static_cast<float>(1.0 / (1.0 - std::pow(static_cast<double>(kFirstDecay), steps)))),
        second_root(static_cast<float>(1.0 / std::sqrt(1.0 - std::pow(static_cast<double>(kSecondDecay), steps)))) {}
};

struct Optimizer {
  float learning_rate = 0.0F;
  float weight_decay = 0.0F;
  float* first_moment = nullptr;
  float* second_moment = nullptr;
};

// Calls visit(chunk) after the pass forward over each few samples.
template <bool kWayBack, typename Block, typename Visit>
QUEST_HOST_DEVICE void for_each_chunk(const ModelMemory& m, const Samples& samples, const int* which, int count,
                                      Block& block, const Visit& visit) {
  const int at_once = m.samples_at_once();
  for (int first = 0; first < count; first += at_once) {
    const Chunk chunk{samples, which + first, count - first < at_once ? count - first : at_once};
    attend<kWayBack>(m, chunk, block);
    visit(chunk);
  }
}

// Leaves the gradient of the mean loss in shared memory.
template <typename Block>
QUEST_HOST_DEVICE void batch_gradient(const ModelMemory& m, const Samples& samples, const int* which, int count,
                                      Block& block) {
  clear_gradients(m, block);
  cls_forward(m, block);
  const float per_batch = 1.0F / static_cast<float>(count);
  for_each_chunk<true>(m, samples, which, count, block, [&](const Chunk& chunk) {
    head_forward(m, block);
    classify(m, chunk, per_batch, block);
    head_backward(m, block);
    head_weights_backward(m, block);
    attend_backward(m, chunk, block);
  });
  cls_backward(m, block);
}

template <typename Block>
QUEST_HOST_DEVICE void adamw_step(const ModelMemory& m, const Optimizer& optimizer, StepFactors factors, Block& block) {
  const float keep = 1.0F - optimizer.learning_rate * optimizer.weight_decay;
  const float step = optimizer.learning_rate * factors.first;
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < m.at.count; e += kThreads) {
      const float g = m.gradient[e];
      const float first = optimizer.first_moment[e];
      const float m1 = first + (1.0F - kFirstDecay) * (g - first);
      const float m2 = kSecondDecay * optimizer.second_moment[e] + (1.0F - kSecondDecay) * g * g;
      optimizer.first_moment[e] = m1;
      optimizer.second_moment[e] = m2;
      m.weights[e] = keep * m.weights[e] - step * (m1 / (sqrtf(m2) * factors.second_root + kAdamEpsilon));
    }
  });
}

template <typename Block>
QUEST_HOST_DEVICE void clear_totals(Block& block) {
  block.phase([](int, Registers& own) { own.totals = {}; });
}

// The threads' parts, in their order.
template <typename Block>
QUEST_HOST_DEVICE void gather_totals(const ModelMemory& m, Block& block, Totals* totals) {
  constexpr int kFloats = sizeof(Totals) / sizeof(float);
  block.phase([&](int thread, Registers& own) { *reinterpret_cast<Totals*>(m.fixed->rows[thread]) = own.totals; });
  block.phase([&](int thread, Registers&) {
    if (thread >= kFloats) return;
    float total = 0.0F;
    for (int t = 0; t < kThreads; ++t) total += m.fixed->rows[t][thread];
    reinterpret_cast<float*>(totals)[thread] = total;
  });
}

// Adds to loss and correct.
template <typename Block>
QUEST_HOST_DEVICE void evaluate(const ModelMemory& m, const Samples& samples, const int* which, int count,
                                Block& block) {
  cls_forward(m, block);
  for_each_chunk<false>(m, samples, which, count, block, [&](const Chunk& chunk) {
    head_forward(m, block);
    classify(m, chunk, 1.0F, block);
  });
}

QUEST_HOST_DEVICE float entropy_of(float probability) { return -probability * logf(fmaxf(probability, 1e-30F)); }

QUEST_HOST_DEVICE void probe_token(const ModelMemory& m, const Chunk& chunk, int thread, Registers& own) {
  const BlockMemory& fixed = *m.fixed;
  const int s = thread / m.model.tokens;
  const int t = thread % m.model.tokens;
  own.totals.entropy += entropy_of(fixed.exponential[thread] * fixed.inverse_sum[s]);
  if (t == 0) own.totals.entropy += entropy_of(fixed.cls_exponential[s] * fixed.inverse_sum[s]);
  float squares = 0.0F;
  for (int o = 0; o < kWidth; ++o) {
    const float k = fixed.folded_bias[o] + dot(vector_at(fixed.folded_key[o]), own.row);
    squares += k * k;
  }
  const int sample = chunk.which[s];
  const TokenKind answer = chunk.samples.biased[sample] == 1 ? kBiasedAnswer : kUnbiasedAnswer;
  const TokenKind kind = t == chunk.samples.answer[sample] ? answer : kOther;
  for (int i = 0; i < 3; ++i) own.totals.key_norm[i] += i == kind ? sqrtf(squares) : 0.0F;
}

// Adds to key norms and entropy.
template <typename Block>
QUEST_HOST_DEVICE void probe(const ModelMemory& m, const Samples& samples, const int* which, int count, Block& block) {
  cls_forward(m, block);
  for_each_chunk<false>(m, samples, which, count, block, [&](const Chunk& chunk) {
    block.phase([&](int thread, Registers& own) {
      if (chunk.has_token(m, thread)) probe_token(m, chunk, thread, own);
    });
  });
}

struct EpochPlan {
  const int* order;      // of the training samples
  const int* ascending;  // 0, 1, 2, ...
  const StepFactors* steps;
  int batch;
  int probe_samples;
  bool last;
};

struct EpochTotals {
  Totals training;        // while training
  Totals test;            // after the epoch, and so are the rest
  Totals probe;           // of some training samples
  Totals final_training;  // in the last epoch
  float query_norm;
};

template <typename Block>
QUEST_HOST_DEVICE void train_epoch(const ModelMemory& m, const Optimizer& optimizer, const Samples& training,
                                   const Samples& test, const EpochPlan& plan, Block& block, EpochTotals& totals) {
  clear_totals(block);
  for (int first = 0, step = 0; first < training.count; first += plan.batch, ++step) {
    const int count = training.count - first < plan.batch ? training.count - first : plan.batch;
    batch_gradient(m, training, plan.order + first, count, block);
    adamw_step(m, optimizer, plan.steps[step], block);
  }
  gather_totals(m, block, &totals.training);
  clear_totals(block);
  evaluate(m, test, plan.ascending, test.count, block);
  gather_totals(m, block, &totals.test);
  clear_totals(block);
  probe(m, training, plan.ascending, plan.probe_samples, block);
  gather_totals(m, block, &totals.probe);
  block.phase([&](int thread, Registers&) {
    if (thread == 0) totals.query_norm = m.fixed->query_norm;
  });
  if (!plan.last) return;
  clear_totals(block);
  evaluate(m, training, plan.ascending, training.count, block);
  gather_totals(m, block, &totals.final_training);
}

}  // namespace quest::toy::engine::cuda
