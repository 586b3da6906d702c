#pragma once

// A boolean mask as bits: what a lane needs of a row for a whole tile is one word.

#include <cstdint>

#include "kernels/attention_problem.h"
#include "kernels/cuda/launch.h"

namespace quest::kernels::cuda::portable {

inline constexpr int kBitsPerWord = 64;

// Rows and columns are padded to whole words with zeros.
struct MaskBits {
  const std::uint64_t* words = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;  // 0 where all rows are one
  int word_stride = 0;          // 0 where all words of a row are one
};

struct PackedMask {
  MaskBits of_queries;  // a row is a query's, its bits are keys
  MaskBits of_keys;     // the other way round
};

std::int64_t mask_workspace(const AttentionProblem& problem);  // floats; none unless there is a boolean mask
// Queues the kernel that fills the workspace and describes the result.
cudaError_t pack_mask(const AttentionProblem& problem, float* workspace, cudaStream_t stream, PackedMask& result);

}  // namespace quest::kernels::cuda::portable
