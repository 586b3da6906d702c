#include "kernels/cuda/launch_kernel.cuh"
#include "kernels/cuda/portable/mask_bits.h"
#include "kernels/sequence.h"

namespace quest::kernels::cuda::portable {
namespace {

constexpr int kThreads = 256;
constexpr int kBitsPerThread = 16;
constexpr int kThreadsPerRow = kBitsPerWord / kBitsPerThread;

struct PackParameters {
  Mask mask;
  int queries;
  int keys;
  int64_t heads;  // that have masks of their own
  int query_words;
  int key_words;
  bool aligned;          // every row is whole words of 16 bytes
  uint64_t* of_queries;  // [masks][64 · query_words][key_words]
  uint64_t* of_keys;     // [masks][64 · key_words][query_words]
};

// Bit i tells whether byte i is not zero.
__device__ uint32_t nonzero_bytes(uint32_t word) { return (__vcmpne4(word, 0) & 0x08040201u) * 0x01010101u >> 24; }

// Of keys from `key` on.
__device__ uint32_t pack_row(const PackParameters& p, const uint8_t* row, int key) {
  uint32_t bits = 0;
  if (p.aligned && key < p.keys) {
    const uint4 bytes = *reinterpret_cast<const uint4*>(row + key);
    bits = nonzero_bytes(bytes.x) | nonzero_bytes(bytes.y) << 4 | nonzero_bytes(bytes.z) << 8 |
           nonzero_bytes(bytes.w) << 12;
  } else {
#pragma unroll
    for (int i = 0; i < kBitsPerThread; ++i) {
      if (key + i < p.keys && row[key + i] != 0) bits |= 1u << i;
    }
  }
  return bits;
}

// A block packs a square of 64 queries and 64 keys, both ways.
__global__ void __launch_bounds__(kThreads) pack_kernel(const __grid_constant__ PackParameters p) {
  __shared__ uint64_t rows[kBitsPerWord];
  const int key_word = static_cast<int>(blockIdx.x % p.key_words);
  const int query_word = static_cast<int>(blockIdx.x / p.key_words % p.query_words);
  const int64_t index = blockIdx.x / p.key_words / p.query_words;
  const auto* mask = static_cast<const uint8_t*>(p.mask.data) + index / p.heads * p.mask.batch_stride +
                     index % p.heads * p.mask.head_stride;
  {
    const int row = threadIdx.x / kThreadsPerRow;
    const int piece = threadIdx.x % kThreadsPerRow;
    const int query = query_word * kBitsPerWord + row;
    const int key = key_word * kBitsPerWord + piece * kBitsPerThread;
    const bool exists = query < p.queries || p.mask.row_stride == 0;
    const uint32_t bits = exists ? pack_row(p, mask + query * p.mask.row_stride, key) : 0;
    reinterpret_cast<uint16_t*>(rows + row)[piece] = static_cast<uint16_t>(bits);
  }
  __syncthreads();
  if (threadIdx.x < kBitsPerWord) {
    const int query = query_word * kBitsPerWord + threadIdx.x;
    p.of_queries[(index * p.query_words * kBitsPerWord + query) * p.key_words + key_word] = rows[threadIdx.x];
  }
  const int lane = threadIdx.x % 32;
  for (int column = threadIdx.x / 32; column < kBitsPerWord; column += kThreads / 32) {
    const uint64_t low = __ballot_sync(0xffffffffu, (rows[lane] >> column & 1) != 0);
    const uint64_t high = __ballot_sync(0xffffffffu, (rows[lane + 32] >> column & 1) != 0);
    const int key = key_word * kBitsPerWord + column;
    if (lane == 0)
      p.of_keys[(index * p.key_words * kBitsPerWord + key) * p.query_words + query_word] = high << 32 | low;
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

bool rows_are_aligned(const AttentionProblem& p) {
  const auto multiple = [](std::int64_t bytes) { return bytes % 16 == 0; };
  return multiple(reinterpret_cast<std::intptr_t>(p.mask.data)) && multiple(p.mask.batch_stride) &&
         multiple(p.mask.head_stride) && multiple(p.mask.row_stride) && multiple(p.keys);
}

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
                                  .aligned = rows_are_aligned(p),
                                  .of_queries = of_queries,
                                  .of_keys = of_keys};
  return launch_kernel(pack_kernel, layout.blocks(), kThreads, 0, stream, parameters);
}

}  // namespace quest::kernels::cuda::portable
