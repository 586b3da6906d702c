#include "kernels/cuda/portable/mask_bits.h"

#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::portable {
namespace {

constexpr int kWarps = 8;
constexpr int kRowsPerWarp = kBitsPerWord / kWarps;

struct PackParameters {
  Mask mask;
  int queries;
  int keys;
  int64_t heads;  // that have masks of their own
  int query_words;
  int key_words;
  uint64_t* of_queries;  // [masks][64 · query_words][key_words]
  uint64_t* of_keys;     // [masks][64 · key_words][query_words]
};

// Bit i is condition(i).
template <typename Condition>
__device__ uint64_t gather_bits(Condition condition) {
  const int lane = threadIdx.x % 32;
  const uint64_t low = __ballot_sync(0xffffffffu, condition(lane));
  const uint64_t high = __ballot_sync(0xffffffffu, condition(lane + 32));
  return high << 32 | low;
}

// A block packs a square of 64 queries and 64 keys, both ways.
__global__ void __launch_bounds__(32 * kWarps) pack_kernel(const __grid_constant__ PackParameters p) {
  __shared__ uint64_t rows[kBitsPerWord];
  const int key_word = static_cast<int>(blockIdx.x % p.key_words);
  const int query_word = static_cast<int>(blockIdx.x / p.key_words % p.query_words);
  const int64_t index = blockIdx.x / p.key_words / p.query_words;
  const auto* mask = static_cast<const uint8_t*>(p.mask.data) + index / p.heads * p.mask.batch_stride +
                     index % p.heads * p.mask.head_stride;
  const int first_row = threadIdx.x / 32 * kRowsPerWarp;
  for (int row = first_row; row < first_row + kRowsPerWarp; ++row) {
    const int query = query_word * kBitsPerWord + row;
    const uint64_t word = gather_bits([&](int i) {
      const int key = key_word * kBitsPerWord + i;
      return (query < p.queries || p.mask.row_stride == 0) && key < p.keys && mask[query * p.mask.row_stride + key] != 0;
    });
    if (threadIdx.x % 32 == 0) {
      rows[row] = word;
      p.of_queries[(index * p.query_words * kBitsPerWord + query) * p.key_words + key_word] = word;
    }
  }
  __syncthreads();
  for (int row = first_row; row < first_row + kRowsPerWarp; ++row) {
    const int key = key_word * kBitsPerWord + row;
    const uint64_t word = gather_bits([&](int i) { return (rows[i] >> row & 1) != 0; });
    if (threadIdx.x % 32 == 0) {
      p.of_keys[(index * p.key_words * kBitsPerWord + key) * p.query_words + query_word] = word;
    }
  }
}

struct Layout {
  int64_t batches;
  int64_t heads;
  int64_t query_words;
  int64_t key_words;

  explicit Layout(const AttentionProblem& p)
      : batches(p.mask.batch_stride == 0 ? 1 : p.batch),
        heads(p.mask.head_stride == 0 ? 1 : p.heads),
        query_words(p.mask.row_stride == 0 ? 1 : ceil_div(p.queries, kBitsPerWord)),
        key_words(ceil_div(p.keys, kBitsPerWord)) {}

  int64_t blocks() const { return batches * heads * query_words * key_words; }
  int64_t words() const { return blocks() * kBitsPerWord; }  // one way
  MaskBits describe(const Mask& mask, const uint64_t* bits) const {
    const int64_t of_head = query_words * key_words * kBitsPerWord;
    return {.words = bits,
            .batch_stride = mask.batch_stride == 0 ? 0 : heads * of_head,
            .head_stride = mask.head_stride == 0 ? 0 : of_head};
  }
};

}  // namespace

std::int64_t mask_workspace(const AttentionProblem& p) {
  constexpr int kFloatsPerWord = 2;
  return p.mask.type == MaskType::boolean ? 2 * kFloatsPerWord * Layout(p).words() : 0;
}

cudaError_t pack_mask(const AttentionProblem& p, float* workspace, cudaStream_t stream, PackedMask& result) {
  if (p.mask.type != MaskType::boolean) return cudaSuccess;
  const Layout layout(p);
  auto* of_queries = reinterpret_cast<uint64_t*>(workspace);
  uint64_t* of_keys = of_queries + layout.words();
  const bool same_rows = p.mask.row_stride == 0;
  result.of_queries = layout.describe(p.mask, of_queries);
  result.of_queries.row_stride = same_rows ? 0 : layout.key_words;
  result.of_queries.word_stride = 1;
  result.of_keys = layout.describe(p.mask, of_keys);
  result.of_keys.row_stride = layout.query_words;
  result.of_keys.word_stride = same_rows ? 0 : 1;
  const PackParameters parameters{.mask = p.mask,
                                  .queries = static_cast<int>(p.queries),
                                  .keys = static_cast<int>(p.keys),
                                  .heads = layout.heads,
                                  .query_words = static_cast<int>(layout.query_words),
                                  .key_words = static_cast<int>(layout.key_words),
                                  .of_queries = of_queries,
                                  .of_keys = of_keys};
  return launch_kernel(pack_kernel, layout.blocks(), 32 * kWarps, 0, stream, parameters);
}

}  // namespace quest::kernels::cuda::portable
