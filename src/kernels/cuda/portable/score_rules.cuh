#pragma once

// From products of rows to the logits of one head, in units of log 2: scale, mask, order.

#include <limits>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::portable {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

enum class Along { queries, keys };  // what the rows of a block of scores are

// f(query, key, score) for every score of this lane, in a block whose corner is (first_query, first_key).
template <Along kRows, int kBlocks, typename F>
__device__ void visit(Accumulator (&scores)[kBlocks], int first_query, int first_key, F f) {
  const int row = (kRows == Along::keys ? first_key : first_query) + lane_row();
  const int column = (kRows == Along::keys ? first_query : first_key) + lane_column();
#pragma unroll
  for (int block = 0; block < kBlocks; ++block) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int r = row + i / 2 * 8;
      const int c = column + block * 8 + i % 2;
      kRows == Along::keys ? f(c, r, scores[block].x[i]) : f(r, c, scores[block].x[i]);
    }
  }
}

struct ScoreRules {
  int queries;
  int keys;
  bool causal;
  int offset;
  MaskType mask_type;
  const void* mask = nullptr;  // of the selected head
  int64_t mask_row_stride;
  float scale;  // scale · log2 e
  bool plain;   // nothing but the scale stands before the exponential

  __device__ ScoreRules(const AttentionProblem& p, const Sequence& s)
      : queries(static_cast<int>(s.queries)),
        keys(static_cast<int>(s.keys)),
        causal(p.causal != Causal::none),
        offset(static_cast<int>(CausalLimit(p.causal, s).offset)),
        mask_type(p.mask.type),
        mask_row_stride(p.mask.row_stride),
        scale(p.scale * kLog2E),
        plain(mask_type <= MaskType::boolean && scale > 0) {}

  __device__ void select_head(const AttentionProblem& p, const Sequence& s, int head) {
    const int64_t at = s.batch * p.mask.batch_stride + head * p.mask.head_stride;
    const int bytes = mask_type == MaskType::boolean ? 1 : mask_type == MaskType::additive_float32 ? 4 : 2;
    mask = static_cast<const char*>(p.mask.data) + at * bytes;
  }

  // Keys [0, limit) are visible as far as order decides it.
  __device__ int limit(int query) const { return causal ? max(0, min(keys, query + 1 + offset)) : keys; }
  __device__ int first_query(int key) const { return causal ? max(0, key - offset) : 0; }

  // What scores are to be multiplied by after apply().
  __device__ float unit() const { return plain ? scale : 1.0f; }

  // Adds bias(element of the mask), in units of log 2; minus infinity hides even NaN.
  template <Along kRows, typename Stored, int kBlocks, typename Bias>
  __device__ void add_mask(Accumulator (&scores)[kBlocks], int first_query, int first_key, Bias bias) const {
    // Opaque, or addresses would be computed ahead of the loop over tiles and fill registers even where no mask is.
    int64_t row_stride = mask_row_stride;
    asm volatile("" : "+l"(row_stride));
    visit<kRows>(scores, first_query, first_key, [&](int query, int key, float& x) {
      if (query >= queries || key >= keys) return;
      const float y = bias(static_cast<const Stored*>(mask)[query * row_stride + key]);
      x = y == -kInfinity ? y : x + y;
    });
  }
  // The most negative finite number must stay finite.
  __device__ static float in_log2_units(float bias) {
    constexpr float kLeast = std::numeric_limits<float>::lowest();
    const float scaled = bias * kLog2E;
    return bias == -kInfinity ? bias : scaled < kLeast ? kLeast : scaled;
  }

  // Hidden pairs get minus infinity.
  template <Along kRows, int kBlocks>
  __device__ void apply(Accumulator (&scores)[kBlocks], int first_query, int first_key) const {
    if (!plain) visit<kRows>(scores, first_query, first_key, [&](int, int, float& x) { x *= scale; });
    if (mask_type == MaskType::boolean) {
      add_mask<kRows, uint8_t>(scores, first_query, first_key,
                               [](uint8_t allowed) { return allowed != 0 ? 0.0f : -kInfinity; });
    } else if (mask_type == MaskType::additive_float32) {
      add_mask<kRows, float>(scores, first_query, first_key, in_log2_units);
    } else if (mask_type != MaskType::none) {
      const bool half = mask_type == MaskType::additive_float16;
      add_mask<kRows, uint16_t>(scores, first_query, first_key, [half](uint16_t bits) {
        return in_log2_units(half ? Element<__half>::low(bits) : Element<__nv_bfloat16>::low(bits));
      });
    }
    hide<kRows>(scores, first_query, first_key, -kInfinity);
  }

  // Gives what order hides, and what does not exist, another value.
  template <Along kRows, int kBlocks>
  __device__ void hide(Accumulator (&scores)[kBlocks], int first_query, int first_key, float value) const {
    // Rows of queries past the end are stored by nobody; as columns they must not count.
    constexpr bool kColumnsAreQueries = kRows == Along::keys;
    const int key_end = first_key + (kColumnsAreQueries ? 16 : kBlocks * 8);
    if (key_end > limit(first_query) || (kColumnsAreQueries && first_query + kBlocks * 8 > queries)) {
      visit<kRows>(scores, first_query, first_key, [&](int query, int key, float& x) {
        // All conditions of one: branches around each would be larger than the rest of a loop.
        if ((key >= keys) | (causal & (key > query + offset)) | (kColumnsAreQueries & (query >= queries))) x = value;
      });
    }
  }
};

}  // namespace quest::kernels::cuda::portable
