#pragma once

// What a block of threads needs to train one model. Everything here and in the files that include it is plain C++ in
// phases: within a phase no thread reads what another writes, and a phase ends when all threads have. A GPU runs the
// threads of a phase side by side, a test on the CPU one after the other.

#include <cstdint>

#include "domains/toy/engine/model.h"
#include "domains/toy/engine/parameters.h"

#ifdef __CUDACC__
// Inlined, or what a thread keeps would leave its registers.
#define QUEST_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define QUEST_HOST_DEVICE inline
#endif

namespace quest::toy::engine::cuda {

using engine::kClasses;
using engine::kHidden;
using engine::kRealDims;
using engine::kWidth;

// Samples that go through the network together: one thread per element of their vectors, and per token.
inline constexpr int kChunk = 8;
inline constexpr int kThreads = kChunk * kWidth;
inline constexpr int kMostTokens = kThreads;

// The second moments of rows are summed in square tiles on and above the diagonal, each by several threads.
inline constexpr int kTile = 4;
inline constexpr int kTilesPerSide = kWidth / kTile;
inline constexpr int kTiles = kTilesPerSide * (kTilesPerSide + 1) / 2;
inline constexpr int kTileGroups = kThreads / kTiles;
inline constexpr int kTileFloats = kTile * kTile;

// Rows of keys and of second moments with their bias: the row (ρ, 1).
inline constexpr int kExtended = kWidth + 1;

struct Samples {
  const float* real = nullptr;  // as in engine::TaskData
  const std::uint8_t* classes = nullptr;
  const int* answer = nullptr;
  const std::uint8_t* biased = nullptr;
  int count = 0;
};

// Read and written in one piece.
struct alignas(16) Quad {
  float value[4];
};
struct alignas(8) Pair {
  float value[2];
};

// A vector in registers.
struct Vector {
  float value[kWidth];

  QUEST_HOST_DEVICE float& operator[](int i) { return value[i]; }
  QUEST_HOST_DEVICE const float& operator[](int i) const { return value[i]; }
};

// Memory of vectors starts at multiples of 16 bytes.
QUEST_HOST_DEVICE Vector vector_at(const float* memory) {
  Vector vector;
  for (int i = 0; i < kWidth; i += 4) {
    const Quad quad = *reinterpret_cast<const Quad*>(memory + i);
    for (int j = 0; j < 4; ++j) vector[i + j] = quad.value[j];
  }
  return vector;
}

QUEST_HOST_DEVICE void store(const Vector& vector, float* memory) {
  for (int i = 0; i < kWidth; i += 4) {
    *reinterpret_cast<Quad*>(memory + i) = {{vector[i], vector[i + 1], vector[i + 2], vector[i + 3]}};
  }
}

enum TokenKind { kBiasedAnswer, kUnbiasedAnswer, kOther };

// Sums over samples.
struct Totals {
  float loss = 0.0F;
  float correct = 0.0F;
  float key_norm[3] = {};  // by TokenKind
  float entropy = 0.0F;
};

// What a thread keeps to itself from phase to phase.
struct Registers {
  // Of this thread's token.
  Vector row;   // ρ
  Vector back;  // K'ᵀk, then the gradient of the token's input
  float inverse_deviation;
  float inverse_norm;
  float logit;
  // Sums over a batch.
  float moment[kTileFloats];  // of c ρ ρᵀ, one tile
  float factor_row;           // of f ρ, one element
  float moment_row;           // of c ρ
  float factor;               // of f
  float moment_one;           // of c
  Totals totals;
};

using SampleRows = float[kChunk][kWidth];

// Shared memory, but for what depends on the number of tokens.
struct alignas(16) BlockMemory {
  float rows[kThreads][kWidth];  // ρ of the chunk's tokens, then the gradients of their inputs; also partial sums
  // The key layer on rows: K' and κ with k = K'ρ + κ.
  float folded_key[kWidth][kWidth];
  float folded_bias[kWidth];
  // z = fold_factor ρ + fold_offset is what queries, keys and values are made of.
  float fold_factor[kWidth];
  float fold_offset[kWidth];
  // CLS.
  float x[kWidth];
  float hat[kWidth];
  float normed[kWidth];  // LN1(x)
  float cls_row[kWidth];
  float cls_key[kWidth];
  float cls_back[kWidth];
  float raw_query[kWidth];
  float query[kWidth];      // divided by its norm where the formulation says so
  float effective[kWidth];  // with scale and gain
  float direction[kWidth];  // K'ᵀ effective
  float cls_drow[kWidth];
  float deffective[kWidth];
  float dquery[kWidth];
  float dsource[kWidth];
  float dhat[kWidth];
  float dx[kWidth];
  float cls_inverse_deviation;
  float query_norm;
  float cls_inverse_norm;
  float cls_logit;
  float cls_exponential[kChunk];
  float inverse_sum[kChunk];
  float cls_dlogit[kChunk];
  float cls_dlogit_sum;
  // Tokens of the chunk.
  float logit[kThreads];
  float exponential[kThreads];
  float factor[kThreads];  // f: dk = f e - c k
  float moment[kThreads];  // c
  // Samples of the chunk.
  alignas(16) SampleRows pooled_row;  // Σ a ρ
  SampleRows pooled;                  // Σ a z
  SampleRows mixed;                   // the residual stream: in front of the MLP, then, with pre_norm, behind it
  SampleRows hat2;
  SampleRows mlp_input;
  SampleRows hidden;
  SampleRows active;
  SampleRows final_hat;
  SampleRows result;  // what is classified
  SampleRows logits;
  SampleRows dlogits;
  SampleRows dresult;
  SampleRows doutput;  // of the MLP's output
  SampleRows dhidden;
  SampleRows dmlp_input;
  SampleRows dmixed;
  SampleRows dpooled;
  SampleRows dpooled_row;
  float inverse_deviation2[kChunk];
  float final_inverse_deviation[kChunk];
  // Sums over the batch.
  alignas(16) float factor_row[kExtended];
  float moments[kExtended][kExtended];
  float dkey[kWidth][kExtended];
};

static_assert(kTileGroups * kTiles * kTileFloats + 4 * kThreads <= kThreads * kWidth, "partial sums fit rows");

// One model in shared memory.
struct ModelMemory {
  engine::Model model;
  engine::Layout at;
  BlockMemory* fixed;
  float* weights;
  float* gradient;

  QUEST_HOST_DEVICE ModelMemory(const engine::Model& switches, unsigned char* memory)
      : model(switches),
        at(switches.tokens),
        fixed(reinterpret_cast<BlockMemory*>(memory)),
        weights(reinterpret_cast<float*>(memory + sizeof(BlockMemory))),
        gradient(weights + padded_count(switches.tokens)) {}

  QUEST_HOST_DEVICE static constexpr int padded_count(int tokens) { return (engine::Layout(tokens).count + 3) / 4 * 4; }
  QUEST_HOST_DEVICE static constexpr std::size_t bytes(int tokens) {
    return sizeof(BlockMemory) + 2 * sizeof(float) * padded_count(tokens);
  }
  QUEST_HOST_DEVICE bool pre_norm() const { return model.wiring == engine::Wiring::pre_norm; }
  QUEST_HOST_DEVICE int samples_at_once() const {
    return model.tokens * kChunk <= kThreads ? kChunk : kThreads / model.tokens;
  }
};

}  // namespace quest::toy::engine::cuda
