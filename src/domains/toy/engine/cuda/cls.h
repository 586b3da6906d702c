#pragma once

// What a batch needs once: the CLS row, its query and the key layer on rows; and, after all samples, their gradients.

#include "domains/toy/engine/cuda/head.h"

namespace quest::toy::engine::cuda {

QUEST_HOST_DEVICE float gain(const ModelMemory& m, int i) {
  switch (m.model.gain) {
    case engine::Gain::logarithm:
      return expf(fminf(m.weights[m.at.log_gain], logf(engine::kMostGain)));
    case engine::Gain::per_dim:
      return m.weights[m.at.query_gain + i] * m.weights[m.at.key_gain + i];
    case engine::Gain::none:
      break;
  }
  return m.model.scale;
}

// What queries, keys and values of CLS are made of.
QUEST_HOST_DEVICE const float* cls_source(const ModelMemory& m) { return m.pre_norm() ? m.fixed->normed : m.fixed->x; }

template <typename Block, typename Element>
QUEST_HOST_DEVICE void for_vector(Block& block, const Element& element) {
  block.phase([&](int thread, Registers&) {
    if (thread < kWidth) element(thread);
  });
}

template <typename Block>
QUEST_HOST_DEVICE void cls_forward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  const float* const key = m.weights + m.at.key;
  for_vector(block, [&](int i) {
    fixed.fold_factor[i] = m.pre_norm() ? m.weights[m.at.norm1 + i] : 1.0F;
    fixed.fold_offset[i] = m.pre_norm() ? m.weights[m.at.norm1 + kWidth + i] : 0.0F;
    fixed.x[i] = m.weights[m.at.cls + i] + m.weights[m.at.positions + i];
  });
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < kWidth * kWidth; e += kThreads) {
      fixed.folded_key[e / kWidth][e % kWidth] = key[e] * fixed.fold_factor[e % kWidth];
    }
    if (thread >= kWidth) return;
    fixed.folded_bias[thread] = linear(key, kWidth, thread, fixed.fold_offset);
    const Normal normal(vector_at(fixed.x));
    const float hat = (fixed.x[thread] - normal.mean) * normal.inverse_deviation;
    fixed.hat[thread] = hat;
    fixed.normed[thread] = hat * m.weights[m.at.norm1 + thread] + m.weights[m.at.norm1 + kWidth + thread];
    fixed.cls_row[thread] = m.pre_norm() ? hat : fixed.x[thread];
    if (thread == 0) fixed.cls_inverse_deviation = normal.inverse_deviation;
  });
  for_vector(block, [&](int i) {
    fixed.raw_query[i] = linear(m.weights + m.at.query, kWidth, i, cls_source(m));
    fixed.cls_key[i] = fixed.folded_bias[i] + dot(vector_at(fixed.folded_key[i]), vector_at(fixed.cls_row));
  });
  for_vector(block, [&](int i) {
    const float norm = sqrtf(fmaxf(dot(vector_at(fixed.raw_query), vector_at(fixed.raw_query)), kLeastSquaredNorm));
    fixed.query[i] = m.model.normalize_q ? fixed.raw_query[i] / norm : fixed.raw_query[i];
    fixed.effective[i] = gain(m, i) * fixed.query[i];
    fixed.cls_back[i] = column_dot(fixed.cls_key, &fixed.folded_key[0][0], i);
    if (i == 0) fixed.query_norm = norm;
  });
  for_vector(block, [&](int i) { fixed.direction[i] = column_dot(fixed.effective, &fixed.folded_key[0][0], i); });
  block.phase([&](int thread, Registers&) {
    if (thread != 0) return;
    const float squares = fmaxf(dot(vector_at(fixed.cls_key), vector_at(fixed.cls_key)), kLeastSquaredNorm);
    fixed.cls_inverse_norm = m.model.normalize_k ? 1.0F / sqrtf(squares) : 1.0F;
    fixed.cls_logit = m.model.normalize_k
                          ? fixed.cls_inverse_norm * dot(vector_at(fixed.effective), vector_at(fixed.cls_key))
                          : dot(vector_at(fixed.direction), vector_at(fixed.cls_row));
  });
}

template <typename Block>
QUEST_HOST_DEVICE void clear_gradients(const ModelMemory& m, Block& block) {
  block.phase([&](int thread, Registers& own) {
    for (int e = thread; e < m.at.count; e += kThreads) m.gradient[e] = 0.0F;
    if (thread < kWidth) m.fixed->cls_drow[thread] = 0.0F;
    if (thread == 0) m.fixed->cls_dlogit_sum = 0.0F;
    for (float& value : own.moment) value = 0.0F;
    own.factor_row = own.moment_row = own.factor = own.moment_one = 0.0F;
  });
}

// f and c of CLS as a row.
struct ClsCoefficients {
  float factor;
  float moment;

  QUEST_HOST_DEVICE explicit ClsCoefficients(const ModelMemory& m)
      : factor(m.fixed->cls_dlogit_sum * m.fixed->cls_inverse_norm),
        moment(m.model.normalize_k ? factor * m.fixed->cls_logit * m.fixed->cls_inverse_norm : 0.0F) {}
};

// Sums the threads' parts of Σ c (ρ,1)(ρ,1)ᵀ and Σ f (ρ,1), and adds the CLS row.
template <typename Block>
QUEST_HOST_DEVICE void gather_moments(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  float* const parts = &fixed.rows[0][0];
  float* const row_parts = parts + kTileGroups * kTiles * kTileFloats;
  block.phase([&](int thread, Registers& own) {
    if (thread < kTileGroups * kTiles) {
      for (int e = 0; e < kTileFloats; ++e) parts[thread * kTileFloats + e] = own.moment[e];
    }
    row_parts[thread] = own.factor_row;
    row_parts[kThreads + thread] = own.moment_row;
    row_parts[2 * kThreads + thread] = own.factor;
    row_parts[3 * kThreads + thread] = own.moment_one;
  });
  block.phase([&](int thread, Registers&) {
    const ClsCoefficients cls(m);
    for (int e = thread; e < kTiles * kTileFloats; e += kThreads) {
      const TilePlace place(e / kTileFloats);
      const int i = place.row * kTile + e % kTileFloats / kTile;
      const int j = place.column * kTile + e % kTile;
      float total = cls.moment * fixed.cls_row[i] * fixed.cls_row[j];
      for (int g = 0; g < kTileGroups; ++g) total += parts[g * kTiles * kTileFloats + e];
      fixed.moments[i][j] = total;
      if (place.row != place.column) fixed.moments[j][i] = total;
    }
    if (thread > kWidth) return;
    const bool one = thread == kWidth;
    const float row = one ? 1.0F : fixed.cls_row[thread];
    const float* const factors = one ? row_parts + 2 * kThreads : row_parts + thread;
    float factor = cls.factor * row;
    float moment = cls.moment * row;
    for (int g = 0; g < kChunk; ++g) {
      factor += factors[g * kWidth];
      moment += factors[kThreads + g * kWidth];
    }
    // Without unit keys the softmax does not see their bias: f sums to zero but for rounding.
    fixed.factor_row[thread] = one && !m.model.normalize_k ? 0.0F : factor;
    fixed.moments[thread][kWidth] = moment;
    fixed.moments[kWidth][thread] = moment;
  });
}

template <typename Block>
QUEST_HOST_DEVICE void key_backward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  const float* const key = m.weights + m.at.key;
  float* const dkey = m.gradient + m.at.key;
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < kWidth * kExtended; e += kThreads) {
      const int o = e / kExtended;
      const int i = e % kExtended;
      float total = fixed.folded_bias[o] * fixed.moments[kWidth][i];
      for (int t = 0; t < kWidth; ++t) total += fixed.folded_key[o][t] * fixed.moments[t][i];
      fixed.dkey[o][i] = fixed.effective[o] * fixed.factor_row[i] - total;
    }
    if (thread < kWidth) {
      fixed.deffective[thread] = fixed.folded_bias[thread] * fixed.factor_row[kWidth] +
                                 dot(vector_at(fixed.folded_key[thread]), vector_at(fixed.factor_row));
    }
  });
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < kWidth * kWidth; e += kThreads) {
      const int o = e / kWidth;
      const int i = e % kWidth;
      dkey[e] = fixed.dkey[o][i] * fixed.fold_factor[i] + fixed.dkey[o][kWidth] * fixed.fold_offset[i];
    }
    if (thread >= kWidth) return;
    dkey[kWidth * kWidth + thread] = fixed.dkey[thread][kWidth];
    if (!m.pre_norm()) return;
    float dfactor = 0.0F;
    float doffset = 0.0F;
    for (int o = 0; o < kWidth; ++o) {
      dfactor += fixed.dkey[o][thread] * key[o * kWidth + thread];
      doffset += fixed.dkey[o][kWidth] * key[o * kWidth + thread];
    }
    m.gradient[m.at.norm1 + thread] += dfactor;
    m.gradient[m.at.norm1 + kWidth + thread] += doffset;
  });
}

QUEST_HOST_DEVICE void gain_backward(const ModelMemory& m, int i) {
  const BlockMemory& fixed = *m.fixed;
  if (m.model.gain == engine::Gain::per_dim) {
    const float dgain = fixed.deffective[i] * fixed.query[i];
    m.gradient[m.at.query_gain + i] = dgain * m.weights[m.at.key_gain + i];
    m.gradient[m.at.key_gain + i] = dgain * m.weights[m.at.query_gain + i];
  }
  if (m.model.gain == engine::Gain::logarithm && i == 0) {
    const bool open = m.weights[m.at.log_gain] <= logf(engine::kMostGain);
    m.gradient[m.at.log_gain] = open ? gain(m, 0) * dot(vector_at(fixed.deffective), vector_at(fixed.query)) : 0.0F;
  }
}

template <typename Block>
QUEST_HOST_DEVICE void query_backward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  const float* const query = m.weights + m.at.query;
  float* const gradient = m.gradient + m.at.query;
  for_vector(block, [&](int i) {
    gain_backward(m, i);
    fixed.dsource[i] = gain(m, i) * fixed.deffective[i];
  });
  for_vector(block, [&](int i) {
    const float* const dunit = fixed.dsource;
    fixed.dquery[i] =
        m.model.normalize_q
            ? (dunit[i] - dot(vector_at(fixed.query), vector_at(dunit)) * fixed.query[i]) / fixed.query_norm
            : dunit[i];
  });
  block.phase([&](int thread, Registers&) {
    for (int e = thread; e < kWidth * kWidth; e += kThreads) {
      gradient[e] = fixed.dquery[e / kWidth] * cls_source(m)[e % kWidth];
    }
    if (thread >= kWidth) return;
    gradient[kWidth * kWidth + thread] = fixed.dquery[thread];
    fixed.dsource[thread] = column_dot(fixed.dquery, query, thread);
  });
}

// After all samples have added to the gradients.
template <typename Block>
QUEST_HOST_DEVICE void cls_backward(const ModelMemory& m, Block& block) {
  BlockMemory& fixed = *m.fixed;
  gather_moments(m, block);
  key_backward(m, block);
  query_backward(m, block);
  for_vector(block, [&](int i) {
    const ClsCoefficients cls(m);
    const float drow = fixed.cls_drow[i] + cls.factor * fixed.direction[i] - cls.moment * fixed.cls_back[i];
    const float dmixed = m.gradient[m.at.value + kWidth * kWidth + i];
    const float doutput = m.gradient[m.at.output + kWidth * kHidden + i];
    const float dmlp_input = m.gradient[m.at.norm2 + kWidth + i];
    const float dnormed = m.pre_norm() ? fixed.dsource[i] : dmixed;
    m.gradient[m.at.norm1 + i] += dnormed * fixed.hat[i];
    m.gradient[m.at.norm1 + kWidth + i] += dnormed;
    fixed.dhat[i] = dnormed * m.weights[m.at.norm1 + i] + (m.pre_norm() ? drow : 0.0F);
    fixed.dx[i] = m.pre_norm() ? dmixed : drow + fixed.dsource[i] + doutput + dmlp_input;
  });
  for_vector(block, [&](int i) {
    const NormalGradient through_norm(vector_at(fixed.dhat), vector_at(fixed.hat), fixed.cls_inverse_deviation);
    const float dx = fixed.dx[i] + through_norm(fixed.dhat[i], fixed.hat[i]);
    m.gradient[m.at.cls + i] = dx;
    m.gradient[m.at.positions + i] = dx;
  });
}

}  // namespace quest::toy::engine::cuda
