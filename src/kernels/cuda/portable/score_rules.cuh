#pragma once

// From products of rows to the logits of one head, in units of log 2: scale, mask, order.

#include <limits>
#include <type_traits>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/portable/mask_bits.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::portable {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

constexpr bool is_additive(MaskType type) { return type > MaskType::boolean; }
// What is compiled apart: it would take registers from everything else.
constexpr bool has_extras(const AttentionProblem& p) { return is_additive(p.mask.type) || p.dropout_p > 0; }
constexpr bool is_additive_16bit(MaskType type) { return type > MaskType::additive_float32; }

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

// In place of a function that gives pieces of a mask in shared memory.
struct NotStaged {};

struct ScoreRules {
  int queries;
  int keys;
  bool causal;
  int offset;
  MaskType mask_type;
  const void* mask = nullptr;  // of the selected head; bits of a boolean one
  int64_t mask_row_stride;
  int mask_word_stride;
  float scale;  // scale · log2 e
  bool plain;   // nothing but the scale stands before the exponential

  // `bits` have the rows that blocks of scores have.
  __device__ ScoreRules(const AttentionProblem& p, const Sequence& s, const MaskBits& bits)
      : queries(static_cast<int>(s.queries)),
        keys(static_cast<int>(s.keys)),
        causal(p.causal != Causal::none),
        offset(static_cast<int>(CausalLimit(p.causal, s).offset)),
        mask_type(p.mask.type),
        mask_row_stride(mask_type == MaskType::boolean ? bits.row_stride : p.mask.row_stride),
        mask_word_stride(bits.word_stride),
        scale(p.scale * kLog2E),
        plain(!is_additive(mask_type) && scale > 0) {}

  __device__ void select_head(const AttentionProblem& p, const MaskBits& bits, const Sequence& s, int head) {
    if (mask_type == MaskType::boolean) {
      mask = bits.words + s.batch * bits.batch_stride + head * bits.head_stride;
    } else {
      const int64_t at = s.batch * p.mask.batch_stride + head * p.mask.head_stride;
      mask = static_cast<const char*>(p.mask.data) + at * (mask_type == MaskType::additive_float32 ? 4 : 2);
    }
  }

  // Keys [0, limit) are visible as far as order decides it.
  __device__ int limit(int query) const { return causal ? max(0, min(keys, query + 1 + offset)) : keys; }
  __device__ int first_query(int key) const { return causal ? max(0, key - offset) : 0; }

  // What scores are to be multiplied by after apply().
  __device__ float unit() const { return plain ? scale : 1.0f; }

  // Addresses would otherwise be computed ahead of the loop over tiles and fill registers even where no mask is.
  __device__ int64_t opaque_row_stride() const {
    int64_t stride = mask_row_stride;
    asm volatile("" : "+l"(stride));
    return stride;
  }

  // Of this lane's row in half a tile of 16: bit i is the i-th of kColumns columns.
  template <Along kRows, int kColumns>
  __device__ uint64_t bits_of_row(int first_query, int first_key, int half) const {
    static_assert(kBitsPerWord % kColumns == 0);
    const int row = (kRows == Along::keys ? first_key : first_query) + lane_row() + half * 8;
    const int column = kRows == Along::keys ? first_query : first_key;
    const auto* words = static_cast<const uint64_t*>(mask) + column / kBitsPerWord * mask_word_stride;
    const uint64_t bits = words[row * opaque_row_stride()] >> column % kBitsPerWord;
    return kColumns == kBitsPerWord ? bits : bits & ((uint64_t{1} << kColumns) - 1);
  }

  // Whether a boolean mask leaves anything of kRowTiles · 16 rows and kColumns columns to this warp.
  template <Along kRows, int kRowTiles, int kColumns>
  __device__ bool leaves_any(int first_query, int first_key) const {
    if (mask_type != MaskType::boolean) return true;
    uint64_t bits = 0;
#pragma unroll
    for (int half = 0; half < kRowTiles * 2; ++half) bits |= bits_of_row<kRows, kColumns>(first_query, first_key, half);
    return __any_sync(0xffffffffu, bits != 0);
  }

  template <Along kRows, int kBlocks>
  __device__ void hide_by_bits(Accumulator (&scores)[kBlocks], int first_query, int first_key) const {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint64_t seen = bits_of_row<kRows, kBlocks * 8>(first_query, first_key, half) >> lane_column();
#pragma unroll
      for (int i = 0; i < kBlocks * 2; ++i) {
        if ((seen >> (i / 2 * 8 + i % 2) & 1) == 0) scores[i / 2].x[half * 2 + i % 2] = -kInfinity;
      }
    }
  }

  // Scores in units of log 2, plus bias(element of the mask); minus infinity hides even NaN. Rows past the end read the
  // last one: hide() has the last word on them.
  template <Along kRows, typename Stored, int kBlocks, typename Bias>
  __device__ void add_mask(Accumulator (&scores)[kBlocks], int first_query, int first_key, Bias bias) const {
    const int64_t stride = opaque_row_stride();
    const auto* elements = static_cast<const Stored*>(mask);
    const auto add = [&](float& x, const Stored* element, bool exists) {
      add_bias(x, bias(exists ? *element : Stored()));
    };
    if constexpr (kRows == Along::queries) {
      const int key = first_key + lane_column();
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const int query = min(first_query + lane_row() + half * 8, queries - 1);
        const Stored* row = elements + query * stride + key;
#pragma unroll
        for (int i = 0; i < kBlocks * 2; ++i) {
          const int column = i / 2 * 8 + i % 2;
          add(scores[i / 2].x[half * 2 + i % 2], row + column, key + column < keys);
        }
      }
    } else {
      const int key = min(first_key + lane_row(), keys - 1);
      const int below = min(8, keys - 1 - key);
      const int query = first_query + lane_column();
      const Stored* row = elements + query * stride + key;
#pragma unroll
      for (int block = 0; block < kBlocks; ++block, row += 8 * stride) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          add(scores[block].x[i], row + i % 2 * stride + i / 2 * below, query + block * 8 + i % 2 < queries);
        }
      }
    }
  }

  // The most negative finite number must stay finite.
  __device__ void add_bias(float& x, float bias) const {
    float in_log2_units;
    asm("max.NaN.f32 %0, %1, %2;"
        : "=f"(in_log2_units)
        : "f"(bias * kLog2E), "f"(std::numeric_limits<float>::lowest()));
    x = bias == -kInfinity ? bias : fmaf(x, scale, in_log2_units);
  }

  // staged(step) has the mask for blocks 2 · step and 2 · step + 1 as a left operand has its elements.
  template <int kBlocks, typename Staged, typename Bias>
  __device__ void add_staged(Accumulator (&scores)[kBlocks], Staged staged, Bias bias) const {
#pragma unroll
    for (int step = 0; step < kBlocks / 2; ++step) {
      const Fragment pairs = staged(step);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        float* x = scores[2 * step + i / 2].x + i % 2 * 2;
        add_bias(x[0], bias(pairs.x[i] & 0xffffu));
        add_bias(x[1], bias(pairs.x[i] >> 16));
      }
    }
  }

  // Hidden pairs get minus infinity.
  template <Along kRows, int kBlocks>
  __device__ void apply(Accumulator (&scores)[kBlocks], int first_query, int first_key) const {
    if (!plain) visit<kRows>(scores, first_query, first_key, [&](int, int, float& x) { x *= scale; });
    if (mask_type == MaskType::boolean) hide_by_bits<kRows>(scores, first_query, first_key);
    hide<kRows>(scores, first_query, first_key, -kInfinity);
  }

  // The same where the mask is additive; one of 16-bit elements is taken from where it was staged.
  template <Along kRows, int kBlocks, typename Staged>
  __device__ void apply_additive(Accumulator (&scores)[kBlocks], int first_query, int first_key, Staged staged) const {
    if (mask_type == MaskType::additive_float32) {
      add_mask<kRows, float>(scores, first_query, first_key, [](float x) { return x; });
    } else {
      const bool half = mask_type == MaskType::additive_float16;
      const auto bias = [half](uint32_t bits) {
        return half ? Element<__half>::low(bits) : Element<__nv_bfloat16>::low(bits);
      };
      if constexpr (std::is_same_v<Staged, NotStaged>) {
        add_mask<kRows, uint16_t>(scores, first_query, first_key, bias);
      } else {
        add_staged(scores, staged, bias);
      }
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
