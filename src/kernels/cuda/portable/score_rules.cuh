#pragma once

// From products of rows to the logits of one head: scale, mask, order.

#include <limits>
#include <type_traits>

#include "kernels/cuda/device/element.cuh"
#include "kernels/cuda/device/fragments.cuh"
#include "kernels/cuda/portable/mask_bits.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::portable {

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

// What is compiled apart, not to take registers from everything else; an additive mask may come with dropout, and a
// boolean one is none, but in the forward of wide heads.
enum class Extras { none, boolean_mask, dropout, additive_mask };
constexpr Extras extras_of(const AttentionProblem& p) {
  return is_additive(p.mask.type) ? Extras::additive_mask : p.dropout_p > 0 ? Extras::dropout : Extras::none;
}
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

// What products become scores by: a number for each of a lane's two rows in a tile.
struct RowScales {
  float of_half[2];

  __device__ float operator()(int half, int /*block*/, int /*odd*/) const { return of_half[half]; }
};

struct ScoreRules {
  int queries;
  int keys;
  bool causal;
  int offset;
  MaskType mask_type;
  const void* mask = nullptr;  // of the selected head; bits of a boolean one
  int64_t mask_row_stride;
  int mask_word_stride;
  float scale;  // of scores in units of log 2; beside a bias in natural ones, where no finite bias is too large
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
        scale(is_additive(mask_type) ? p.scale : p.scale * kLog2E),
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

  // What scores are to be multiplied by after apply(), to be in units of log 2.
  __device__ float unit() const { return plain ? scale : is_additive(mask_type) ? kLog2E : 1.0f; }

  // Addresses would otherwise be computed ahead of the loop over tiles and fill registers even where no mask is.
  __device__ int64_t opaque_row_stride() const {
    int64_t stride = mask_row_stride;
    asm volatile("" : "+l"(stride));
    return stride;
  }

  // Bit i is the i-th of kColumns columns.
  template <int kColumns>
  __device__ uint64_t bits_of_row(int row, int column) const {
    static_assert(kBitsPerWord % kColumns == 0);
    const auto* words = static_cast<const uint64_t*>(mask) + column / kBitsPerWord * mask_word_stride;
    const uint64_t bits = words[row * opaque_row_stride()] >> column % kBitsPerWord;
    return kColumns == kBitsPerWord ? bits : bits & ((uint64_t{1} << kColumns) - 1);
  }

  // Zero in all lanes where a boolean mask leaves nothing of kCount rows and kColumns columns.
  template <Along kRows, int kCount, int kColumns>
  __device__ uint64_t bits_of_rows(int first_query, int first_key) const {
    if (mask_type != MaskType::boolean) return 1;
    const int first = kRows == Along::keys ? first_key : first_query;
    const int last = (kRows == Along::keys ? keys : queries) - 1;
    uint64_t bits = 0;
#pragma unroll
    for (int i = lane_id() % kCount; i < kCount; i += 32) {
      bits |= bits_of_row<kColumns>(min(first + i, last), kRows == Along::keys ? first_query : first_key);
    }
    return bits;
  }

  template <Along kRows, int kBlocks>
  __device__ void hide_by_bits(Accumulator (&scores)[kBlocks], int first_query, int first_key, float value) const {
    const int row = (kRows == Along::keys ? first_key : first_query) + lane_row();
    const int column = kRows == Along::keys ? first_query : first_key;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const uint64_t seen = bits_of_row<kBlocks * 8>(row + half * 8, column) >> lane_column();
#pragma unroll
      for (int i = 0; i < kBlocks * 2; ++i) {
        if ((seen >> (i / 2 * 8 + i % 2) & 1) == 0) scores[i / 2].x[half * 2 + i % 2] = value;
      }
    }
  }

  // Whether the mask leaves a key to a query.
  __device__ bool leaves(int query, int key) const {
    const int64_t at = query * mask_row_stride + key;
    switch (mask_type) {
      case MaskType::none:
        return true;
      case MaskType::boolean:
        return (bits_of_row<kBitsPerWord>(query, key) & 1) != 0;
      case MaskType::additive_float32:
        return static_cast<const float*>(mask)[at] != -kInfinity;
      case MaskType::additive_bfloat16:
        return Element<__nv_bfloat16>::low(static_cast<const uint16_t*>(mask)[at]) != -kInfinity;
      default:
        return Element<__half>::low(static_cast<const uint16_t*>(mask)[at]) != -kInfinity;
    }
  }

  // Minus infinity is to hide even NaN. Where it does not, that shows in the results.
  __device__ static void hide_nan(float& x, float bias) {
    if (bias == -kInfinity) x = bias;
  }
  __device__ static void add_bias(float& x, float scale, float bias, bool hides_nan) {
    x = fmaf(x, scale, bias);
    if (hides_nan) hide_nan(x, bias);
  }

  // A mask of float32 as this lane has its scores. What does not exist gets anything that does: hide() has the last
  // word on it.
  template <Along kRows, int kBlocks>
  __device__ void load_mask(Accumulator (&biases)[kBlocks], int first_query, int first_key) const {
    constexpr bool kRowsAreKeys = kRows == Along::keys;
    constexpr int kColumns = kBlocks * 8;
    const int row = (kRowsAreKeys ? first_key : first_query) + lane_row();
    const int column = (kRowsAreKeys ? first_query : first_key) + lane_column();
    const int row_count = kRowsAreKeys ? keys : queries;
    const int column_count = kRowsAreKeys ? queries : keys;
    const int64_t stride = opaque_row_stride();
    const auto* elements = static_cast<const float*>(mask);
    const auto element = [&](int r, int c) { return elements + (kRowsAreKeys ? c * stride + r : r * stride + c); };
    if (row - lane_row() + 16 <= row_count && column - lane_column() + kColumns <= column_count) {
      const float* corner = element(row, column);
#pragma unroll
      for (int i = 0; i < kBlocks * 4; ++i) {
        const int r = i % 4 / 2 * 8;
        const int c = i / 4 * 8 + i % 2;
        biases[i / 4].x[i % 4] = kRowsAreKeys ? corner[c * stride + r] : corner[r * stride + c];
      }
    } else {
#pragma unroll
      for (int i = 0; i < kBlocks * 4; ++i) {
        const int r = min(row + i % 4 / 2 * 8, row_count - 1);
        const int c = min(column + i / 4 * 8 + i % 2, column_count - 1);
        biases[i / 4].x[i % 4] = *element(r, c);
      }
    }
  }

  // Products of rows become scores, plus what load_mask left.
  template <int kBlocks, typename Scales>
  __device__ static void add_loaded(Accumulator (&scores)[kBlocks], const Scales& scale,
                                    const Accumulator (&biases)[kBlocks], bool hides_nan) {
#pragma unroll
    for (int i = 0; i < kBlocks * 4; ++i) {
      float& x = scores[i / 4].x[i % 4];
      x = fmaf(x, scale(i % 4 / 2, i / 4, i % 2), biases[i / 4].x[i % 4]);
    }
    if (!hides_nan) return;
#pragma unroll
    for (int i = 0; i < kBlocks * 4; ++i) hide_nan(scores[i / 4].x[i % 4], biases[i / 4].x[i % 4]);
  }

  // The same with a mask of T: staged(step) has it for blocks 2 · step and 2 · step + 1 as a left operand has its
  // elements.
  template <typename T, int kBlocks, typename Scales, typename Staged>
  __device__ static void add_staged(Accumulator (&scores)[kBlocks], const Scales& scale, Staged staged,
                                    bool hides_nan) {
#pragma unroll
    for (int step = 0; step < kBlocks / 2; ++step) {
      const Fragment pairs = staged(step);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const int block = 2 * step + i / 2;
        float* x = scores[block].x + i % 2 * 2;
        add_bias(x[0], scale(i % 2, block, 0), Element<T>::low(pairs.x[i]), hides_nan);
        add_bias(x[1], scale(i % 2, block, 1), Element<T>::high(pairs.x[i]), hides_nan);
      }
    }
  }

  // Hidden pairs get minus infinity.
  template <Along kRows, int kBlocks>
  __device__ void apply(Accumulator (&scores)[kBlocks], int first_query, int first_key) const {
    if (!plain) visit<kRows>(scores, first_query, first_key, [&](int, int, float& x) { x *= scale; });
    if (mask_type == MaskType::boolean) hide_by_bits<kRows>(scores, first_query, first_key, -kInfinity);
    hide<kRows>(scores, first_query, first_key, -kInfinity);
  }

  // The same where the mask is additive; one of T is taken from where it was staged.
  template <Along kRows, typename T, int kBlocks, typename Scales, typename Staged>
  __device__ void apply_additive(Accumulator (&scores)[kBlocks], int first_query, int first_key, const Scales& scale,
                                 Staged staged, bool hides_nan) const {
    if (mask_type == MaskType::additive_float32) {
      Accumulator biases[kBlocks];
      load_mask<kRows>(biases, first_query, first_key);
      add_loaded(scores, scale, biases, hides_nan);
    } else {
      add_staged<T>(scores, scale, staged, hides_nan);
    }
    hide<kRows>(scores, first_query, first_key, -kInfinity);
  }

  // The same with a mask of float32 that was loaded before.
  template <Along kRows, int kBlocks, typename Scales>
  __device__ void apply_loaded(Accumulator (&scores)[kBlocks], int first_query, int first_key, const Scales& scale,
                               const Accumulator (&biases)[kBlocks], bool hides_nan) const {
    add_loaded(scores, scale, biases, hides_nan);
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
