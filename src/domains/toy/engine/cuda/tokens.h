#pragma once

// Attention of CLS over the tokens of a few samples, forward and backward; one thread has one token.
//
// With z = g ρ + h (LN1's factors and offsets, or 1 and 0), ρ the normalised token, the layers on z are layers on ρ:
// k = K'ρ + κ. The gradient of a unit key's logit is dk = f e - c k, so the sums of f ρ, c ρ and c ρ ρᵀ over all tokens
// are all that the key layer's gradient needs.

#include "domains/toy/engine/cuda/arithmetic.h"

namespace quest::toy::engine::cuda {

// A chunk of samples. Places without a sample hold zeros, so that sums can run over all places.
struct Chunk {
  const Samples& samples;
  const int* which;  // samples of this chunk
  int count;

  QUEST_HOST_DEVICE bool has_token(const ModelMemory& m, int thread) const { return thread < count * m.model.tokens; }
};

QUEST_HOST_DEVICE void build_row(const ModelMemory& m, const Chunk& chunk, int thread, Registers& own) {
  const int t = thread % m.model.tokens;
  const std::int64_t token = static_cast<std::int64_t>(chunk.which[thread / m.model.tokens]) * m.model.tokens + t;
  const float* const real = chunk.samples.real + token * kRealDims;
  own.row = vector_at(m.weights + m.at.positions + (t + 1) * kWidth);
  for (int i = 0; i < kRealDims; i += 2) {
    const Pair pair = *reinterpret_cast<const Pair*>(real + i);
    own.row[i] += pair.value[0];
    own.row[i + 1] += pair.value[1];
  }
  const int label = chunk.samples.classes[token];
  for (int i = 0; i < kClasses; ++i) own.row[kRealDims + i] += i == label ? 1.0F : 0.0F;
  if (!m.pre_norm()) return;
  const Normal normal(own.row);
  for (float& value : own.row.value) value = (value - normal.mean) * normal.inverse_deviation;
  own.inverse_deviation = normal.inverse_deviation;
}

// Logit against a unit key, and K'ᵀk for the way back.
template <bool kWayBack>
QUEST_HOST_DEVICE void unit_key_logit(const BlockMemory& fixed, Registers& own) {
  float squares = 0.0F;
  float along = 0.0F;
  if constexpr (kWayBack) {
    for (float& value : own.back.value) value = 0.0F;
  }
  for (int o = 0; o < kWidth; ++o) {
    const Vector weight = vector_at(fixed.folded_key[o]);
    const float k = fixed.folded_bias[o] + dot(weight, own.row);
    squares += k * k;
    along += fixed.effective[o] * k;
    if constexpr (kWayBack) {
      for (int i = 0; i < kWidth; ++i) own.back[i] += weight[i] * k;
    }
  }
  own.inverse_norm = 1.0F / sqrtf(fmaxf(squares, kLeastSquaredNorm));
  own.logit = along * own.inverse_norm;
}

template <bool kWayBack, typename Block>
QUEST_HOST_DEVICE void attend(const ModelMemory& m, const Chunk& chunk, Block& block) {
  BlockMemory& fixed = *m.fixed;
  const int tokens = m.model.tokens;
  block.phase([&](int thread, Registers& own) {
    if (!chunk.has_token(m, thread)) {
      store(Vector{}, fixed.rows[thread]);
      fixed.factor[thread] = fixed.moment[thread] = 0.0F;
      return;
    }
    build_row(m, chunk, thread, own);
    store(own.row, fixed.rows[thread]);
    if (m.model.normalize_k) {
      unit_key_logit<kWayBack>(fixed, own);
    } else {
      own.logit = dot(vector_at(fixed.direction), own.row);
    }
    fixed.logit[thread] = own.logit;
  });
  block.phase([&](int thread, Registers& own) {
    if (!chunk.has_token(m, thread)) return;
    const int sample = thread / tokens;
    float most = fixed.cls_logit;
    for (int t = 0; t < tokens; ++t) most = fmaxf(most, fixed.logit[sample * tokens + t]);
    fixed.exponential[thread] = expf(own.logit - most);
    if (thread % tokens == 0) fixed.cls_exponential[sample] = expf(fixed.cls_logit - most);
  });
  block.phase([&](int thread, Registers& /*own*/) {
    const int sample = thread / kWidth;
    const int i = thread % kWidth;
    if (sample >= chunk.count) {
      fixed.pooled_row[sample][i] = fixed.pooled[sample][i] = 0.0F;
      if (i == 0) fixed.inverse_sum[sample] = fixed.cls_exponential[sample] = 0.0F;
      return;
    }
    float total = fixed.cls_exponential[sample];
    float pooled = total * fixed.cls_row[i];
    for (int r = sample * tokens; r < (sample + 1) * tokens; ++r) {
      total += fixed.exponential[r];
      pooled += fixed.exponential[r] * fixed.rows[r][i];
    }
    const float inverse = 1.0F / total;
    if (i == 0) fixed.inverse_sum[sample] = inverse;
    fixed.pooled_row[sample][i] = pooled * inverse;
    fixed.pooled[sample][i] = fixed.fold_factor[i] * (pooled * inverse) + fixed.fold_offset[i];
  });
}

// From the gradient of pooled rows to that of the tokens' inputs, in `back`.
QUEST_HOST_DEVICE void token_backward(const ModelMemory& m, int thread, Registers& own) {
  BlockMemory& fixed = *m.fixed;
  const int sample = thread / m.model.tokens;
  const float probability = fixed.exponential[thread] * fixed.inverse_sum[sample];
  const Vector upstream = vector_at(fixed.dpooled_row[sample]);
  Vector across = vector_at(fixed.pooled_row[sample]);
  for (int i = 0; i < kWidth; ++i) across[i] = own.row[i] - across[i];
  float factor = probability * dot(upstream, across);
  float moment = 0.0F;
  if (m.model.normalize_k) {
    factor *= own.inverse_norm;
    moment = factor * own.logit * own.inverse_norm;
  }
  fixed.factor[thread] = factor;
  fixed.moment[thread] = moment;
  Vector drow = vector_at(fixed.direction);
  for (int i = 0; i < kWidth; ++i) {
    drow[i] = factor * drow[i] + probability * upstream[i];
    if (m.model.normalize_k) drow[i] -= moment * own.back[i];
  }
  if (m.pre_norm()) {
    const NormalGradient dx(drow, own.row, own.inverse_deviation);
    for (int i = 0; i < kWidth; ++i) own.back[i] = dx(drow[i], own.row[i]);
  } else {
    own.back = drow;
  }
}

// Row and column of a tile on or above the diagonal.
struct TilePlace {
  int row = 0;
  int column = 0;

  QUEST_HOST_DEVICE explicit TilePlace(int tile) {
    int rest = tile;
    while (rest >= kTilesPerSide - row) {
      rest -= kTilesPerSide - row;
      ++row;
    }
    column = row + rest;
  }
};

QUEST_HOST_DEVICE void add_moments(const ModelMemory& m, int thread, Registers& own) {
  const BlockMemory& fixed = *m.fixed;
  const int i = thread % kWidth;
  for (int r = thread / kWidth; r < kThreads; r += kChunk) {
    const float value = fixed.rows[r][i];
    own.factor_row += fixed.factor[r] * value;
    own.moment_row += fixed.moment[r] * value;
    own.factor += fixed.factor[r];
    own.moment_one += fixed.moment[r];
  }
  if (!m.model.normalize_k || thread >= kTileGroups * kTiles) return;
  const TilePlace place(thread % kTiles);
  for (int r = thread / kTiles; r < kThreads; r += kTileGroups) {
    const Quad left = *reinterpret_cast<const Quad*>(&fixed.rows[r][place.row * kTile]);
    const Quad right = *reinterpret_cast<const Quad*>(&fixed.rows[r][place.column * kTile]);
    for (int a = 0; a < kTile; ++a) {
      const float scaled = fixed.moment[r] * left.value[a];
      for (int b = 0; b < kTile; ++b) own.moment[a * kTile + b] += scaled * right.value[b];
    }
  }
}

// CLS is a row of every sample: what its logit receives from each of them.
QUEST_HOST_DEVICE void cls_logit_backward(BlockMemory& fixed, int sample) {
  Vector across = vector_at(fixed.pooled_row[sample]);
  for (int i = 0; i < kWidth; ++i) across[i] = fixed.cls_row[i] - across[i];
  fixed.cls_dlogit[sample] =
      fixed.cls_exponential[sample] * fixed.inverse_sum[sample] * dot(vector_at(fixed.dpooled_row[sample]), across);
}

template <typename Block>
QUEST_HOST_DEVICE void attend_backward(const ModelMemory& m, const Chunk& chunk, Block& block) {
  BlockMemory& fixed = *m.fixed;
  block.phase([&](int thread, Registers& own) {
    if (chunk.has_token(m, thread)) token_backward(m, thread, own);
    if (thread < kChunk) cls_logit_backward(fixed, thread);
  });
  block.phase([&](int thread, Registers& own) {
    add_moments(m, thread, own);
    if (thread == 0) {
      for (int s = 0; s < kChunk; ++s) fixed.cls_dlogit_sum += fixed.cls_dlogit[s];
    }
  });
  block.phase([&](int thread, Registers& own) {
    if (chunk.has_token(m, thread)) store(own.back, fixed.rows[thread]);
  });
  block.phase([&](int thread, Registers& /*own*/) {
    const int elements = m.model.tokens * kWidth;
    const float* const gradients = &fixed.rows[0][0];
    float* const dposition = m.gradient + m.at.positions + kWidth;
    for (int e = thread; e < elements; e += kThreads) {
      float total = 0.0F;
      for (int s = 0; s < chunk.count; ++s) total += gradients[s * elements + e];
      dposition[e] += total;
    }
  });
}

}  // namespace quest::toy::engine::cuda
