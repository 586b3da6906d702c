#pragma once

// From what CLS attended to its class: value projection, second norm, MLP, final norm, classifier and cross-entropy,
// forward and backward. One thread has one element of a sample's vector.

#include "domains/toy/engine/cuda/tokens.h"

namespace quest::toy::engine::cuda {

template <typename Block, typename Element>
QUEST_HOST_DEVICE void for_elements(Block& block, const Element& element) {
  block.phase([&](int thread, Registers& own) { element(thread / kWidth, thread % kWidth, own); });
}

// Element i of LN(x). Keeps (x - mean)/deviation and 1/deviation.
QUEST_HOST_DEVICE float norm_forward(const float* norm, const float* x, int i, float* hat, float& inverse_deviation) {
  const Normal normal(vector_at(x));
  const float element = (x[i] - normal.mean) * normal.inverse_deviation;
  hat[i] = element;
  if (i == 0) inverse_deviation = normal.inverse_deviation;
  return element * norm[i] + norm[kWidth + i];
}

// Element i of the gradient of x, from that of LN(x).
QUEST_HOST_DEVICE float norm_backward(const float* norm, const float* dy, int i, const float* hat,
                                      float inverse_deviation) {
  Vector dhat = vector_at(dy);
  const Vector factor = vector_at(norm);
  for (int j = 0; j < kWidth; ++j) dhat[j] *= factor[j];
  const NormalGradient dx(dhat, vector_at(hat), inverse_deviation);
  return dx(dy[i] * norm[i], hat[i]);
}

template <typename Block>
QUEST_HOST_DEVICE void head_forward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.mixed[s][i] =
        linear(m.weights + m.at.value, kWidth, i, fixed.pooled[s]) + (m.pre_norm() ? fixed.x[i] : fixed.normed[i]);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    const float normed =
        norm_forward(m.weights + m.at.norm2, fixed.mixed[s], i, fixed.hat2[s], fixed.inverse_deviation2[s]);
    fixed.mlp_input[s][i] = normed + (m.pre_norm() ? 0.0F : fixed.x[i]);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.hidden[s][i] = linear(m.weights + m.at.hidden, kHidden, i, fixed.mlp_input[s]);
    fixed.active[s][i] = gelu(fixed.hidden[s][i]);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    const float output = linear(m.weights + m.at.output, kWidth, i, fixed.active[s]);
    if (m.pre_norm()) {
      fixed.mixed[s][i] += output;
    } else {
      fixed.result[s][i] = output + fixed.x[i];
    }
  });
  if (m.pre_norm()) {
    for_elements(block, [&](int s, int i, Registers&) {
      fixed.result[s][i] = norm_forward(m.weights + m.at.final_norm, fixed.mixed[s], i, fixed.final_hat[s],
                                        fixed.final_inverse_deviation[s]);
    });
  }
  for_elements(block, [&](int s, int i, Registers&) {
    if (i < kClasses) fixed.logits[s][i] = linear(m.weights + m.at.classifier, kClasses, i, fixed.result[s]);
  });
}

// Adds to loss and correct, and leaves probabilities minus the one-hot label, divided by the batch.
template <typename Block>
QUEST_HOST_DEVICE void classify(const ModelMemory& m, const Chunk& chunk, float per_batch, Block& block) {
  BlockMemory& fixed = *m.fixed;
  for_elements(block, [&](int s, int i, Registers& own) {
    if (i >= kClasses) return;
    if (s >= chunk.count) {
      fixed.dlogits[s][i] = 0.0F;
      return;
    }
    const int sample = chunk.which[s];
    const int label = chunk.samples.classes[sample * m.model.tokens + chunk.samples.answer[sample]];
    const float* const logits = fixed.logits[s];
    float most = logits[0];
    for (int c = 1; c < kClasses; ++c) most = fmaxf(most, logits[c]);
    float total = 0.0F;
    for (int c = 0; c < kClasses; ++c) total += expf(logits[c] - most);
    fixed.dlogits[s][i] = per_batch * (expf(logits[i] - most) / total - (i == label ? 1.0F : 0.0F));
    if (i != 0) return;
    own.totals.loss += logf(total) - (logits[label] - most);
    own.totals.correct += logits[label] >= most ? 1.0F : 0.0F;
  });
}

template <typename Block>
QUEST_HOST_DEVICE void head_backward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.dresult[s][i] = column_dot(fixed.dlogits[s], m.weights + m.at.classifier, i, kClasses);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.doutput[s][i] = m.pre_norm() ? norm_backward(m.weights + m.at.final_norm, fixed.dresult[s], i,
                                                       fixed.final_hat[s], fixed.final_inverse_deviation[s])
                                       : fixed.dresult[s][i];
  });
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.dhidden[s][i] = gelu_slope(fixed.hidden[s][i]) * column_dot(fixed.doutput[s], m.weights + m.at.output, i);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.dmlp_input[s][i] = column_dot(fixed.dhidden[s], m.weights + m.at.hidden, i);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    const float through_norm =
        norm_backward(m.weights + m.at.norm2, fixed.dmlp_input[s], i, fixed.hat2[s], fixed.inverse_deviation2[s]);
    fixed.dmixed[s][i] = through_norm + (m.pre_norm() ? fixed.doutput[s][i] : 0.0F);
  });
  for_elements(block, [&](int s, int i, Registers&) {
    fixed.dpooled[s][i] = column_dot(fixed.dmixed[s], m.weights + m.at.value, i);
    fixed.dpooled_row[s][i] = fixed.fold_factor[i] * fixed.dpooled[s][i];
  });
}

// gradient[o][4 inputs] += Σ_s dy[s][o] x[s][inputs]
QUEST_HOST_DEVICE void add_outer_product(const SampleRows& dy, const SampleRows& x, int tile, float* gradient) {
  const int o = tile / kTilesPerSide;
  const int first = tile % kTilesPerSide * 4;
  Quad& total = *reinterpret_cast<Quad*>(gradient + o * kWidth + first);
  Quad add = total;
  for (int s = 0; s < kChunk; ++s) {
    const Quad input = *reinterpret_cast<const Quad*>(&x[s][first]);
    for (int j = 0; j < 4; ++j) add.value[j] += dy[s][o] * input.value[j];
  }
  total = add;
}

QUEST_HOST_DEVICE float column_sum(const SampleRows& rows, int i) {
  float total = 0.0F;
  for (int s = 0; s < kChunk; ++s) total += rows[s][i];
  return total;
}

QUEST_HOST_DEVICE float column_product(const SampleRows& a, const SampleRows& b, int i) {
  float total = 0.0F;
  for (int s = 0; s < kChunk; ++s) total += a[s][i] * b[s][i];
  return total;
}

// Sums over samples that are no outer product: biases, norms, and what CLS as a row receives. Each kind has a thread
// per element.
QUEST_HOST_DEVICE void add_column_sums(const ModelMemory& m, int kind, int i) {
  BlockMemory& fixed = *m.fixed;
  switch (kind) {
    case 0:
      m.gradient[m.at.value + kWidth * kWidth + i] += column_sum(fixed.dmixed, i);
      break;
    case 1:
      m.gradient[m.at.hidden + kHidden * kWidth + i] += column_sum(fixed.dhidden, i);
      break;
    case 2:
      m.gradient[m.at.output + kWidth * kHidden + i] += column_sum(fixed.doutput, i);
      break;
    case 3:
      if (i < kClasses) m.gradient[m.at.classifier + kClasses * kWidth + i] += column_sum(fixed.dlogits, i);
      break;
    case 4:
      m.gradient[m.at.norm2 + i] += column_product(fixed.dmlp_input, fixed.hat2, i);
      if (m.pre_norm()) m.gradient[m.at.final_norm + i] += column_product(fixed.dresult, fixed.final_hat, i);
      break;
    case 5:
      m.gradient[m.at.norm2 + kWidth + i] += column_sum(fixed.dmlp_input, i);
      if (m.pre_norm()) m.gradient[m.at.final_norm + kWidth + i] += column_sum(fixed.dresult, i);
      break;
    case 6:
      if (!m.pre_norm()) break;
      m.gradient[m.at.norm1 + i] += column_product(fixed.dpooled, fixed.pooled_row, i);
      m.gradient[m.at.norm1 + kWidth + i] += column_sum(fixed.dpooled, i);
      break;
    default:
      for (int s = 0; s < kChunk; ++s) {
        fixed.cls_drow[i] += fixed.cls_exponential[s] * fixed.inverse_sum[s] * fixed.dpooled_row[s][i];
      }
  }
}

template <typename Block>
QUEST_HOST_DEVICE void head_weights_backward(const ModelMemory& m, Block& block) {
  constexpr int kTilesOfLayer = kWidth * kTilesPerSide;
  constexpr int kAllTiles = 3 * kTilesOfLayer + kClasses * kTilesPerSide;
  BlockMemory& fixed = *m.fixed;
  block.phase([&](int thread, Registers&) {
    for (int tile = thread; tile < kAllTiles; tile += kThreads) {
      const int in_layer = tile % kTilesOfLayer;
      switch (tile / kTilesOfLayer) {
        case 0:
          add_outer_product(fixed.dmixed, fixed.pooled, in_layer, m.gradient + m.at.value);
          break;
        case 1:
          add_outer_product(fixed.dhidden, fixed.mlp_input, in_layer, m.gradient + m.at.hidden);
          break;
        case 2:
          add_outer_product(fixed.doutput, fixed.active, in_layer, m.gradient + m.at.output);
          break;
        default:
          add_outer_product(fixed.dlogits, fixed.result, in_layer, m.gradient + m.at.classifier);
      }
    }
    add_column_sums(m, thread / kWidth, thread % kWidth);
  });
}

}  // namespace quest::toy::engine::cuda
