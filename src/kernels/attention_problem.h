#pragma once

// What crosses from the operators to a kernel: pointers, sizes, strides, switches. No tensor type. On a GPU every
// pointer, those of the lengths included, points to its memory.

#include <cstdint>

namespace quest::kernels {

enum class StorageType { float32, bfloat16, float16 };

enum class MaskType { none, boolean, additive_float32, additive_bfloat16, additive_float16 };

// Such a mask may be finite and yet so large that a row's log-sum-exp has no digits left for the number of keys: the
// log-sum-exp then has a second, low part, without which weights computed from it would not sum to one.
constexpr bool is_additive(MaskType type) { return type != MaskType::none && type != MaskType::boolean; }

enum class Causal { none, top_left, lower_right };

// [B, H, N, D] with a dense last dimension; strides count elements.
template <typename Pointer>
struct HeadMatrix {
  Pointer data = nullptr;
  std::int64_t batch_stride = 0;
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;
};
using Input = HeadMatrix<const void*>;
using Output = HeadMatrix<void*>;

struct Mask {
  MaskType type = MaskType::none;
  const void* data = nullptr;
  std::int64_t batch_stride = 0;  // 0 where the mask is broadcast
  std::int64_t head_stride = 0;
  std::int64_t row_stride = 0;  // the key dimension is dense
};

// Packed batches: the batch dimension is one and sequence s owns rows cu_seqlens[s] .. cu_seqlens[s + 1].
struct AttentionProblem {
  std::int64_t batch = 0;  // number of sequences when packed
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;
  std::int64_t queries = 0;  // rows of q; of all sequences when packed
  std::int64_t keys = 0;
  std::int64_t longest_queries = 0;  // queries, or the longest sequence's when packed
  std::int64_t longest_keys = 0;
  std::int64_t dim = 0;
  std::int64_t value_dim = 0;

  StorageType type = StorageType::float32;
  Input q;
  Input k;
  Input v;

  bool normalize_q = false;
  bool normalize_k = false;
  float scale = 1.0F;
  const float* gain = nullptr;  // null: 1
  std::int64_t gain_head_stride = 0;
  std::int64_t gain_dim_stride = 0;

  Mask mask;
  Causal causal = Causal::none;
  const std::int64_t* key_lengths = nullptr;   // [batch]
  const std::int64_t* cu_seqlens_q = nullptr;  // [batch + 1]
  const std::int64_t* cu_seqlens_k = nullptr;

  float dropout_p = 0.0F;
  std::uint64_t dropout_seed = 0;
};

struct ForwardOutputs {
  Output out;                  // in the problem's storage type; d_v dense
  float* lse = nullptr;        // [B, H, Nq] dense ([H, total] when packed)
  float* lse_low = nullptr;    // likewise: what rounding took from it; only beside an additive mask, see is_additive
  float* workspace = nullptr;  // as many floats as the device's forward asks for; none on the CPU
};

struct BackwardArguments {
  Input out;
  Input grad_out;
  const float* lse = nullptr;
  const float* lse_low = nullptr;  // as ForwardOutputs'
  Output grad_q;
  Output grad_k;
  Output grad_v;
  float* grad_gain = nullptr;  // null, or [H, D] dense, written
  float* workspace = nullptr;  // as many floats as the device's backward asks for
};

// The gradient of an additive mask, in float32 with the mask's own (broadcast) shape.
struct MaskGradient {
  float* data = nullptr;        // dense [mask_batch, mask_heads, mask_rows, keys]
  std::int64_t mask_batch = 1;  // 1 or batch
  std::int64_t mask_heads = 1;  // 1 or heads
  std::int64_t mask_rows = 1;   // 1 or queries
};

// From the log-sum-exp of a forward.
struct StatisticsOutputs {
  const float* lse = nullptr;
  const float* lse_low = nullptr;  // as ForwardOutputs'
  float* max_logit = nullptr;      // [B, H, Nq]
  float* entropy = nullptr;        // [B, H, Nq]
  float* q_norm = nullptr;         // [B, H, Nq]
  float* k_norm = nullptr;         // [B, Hk, Nk]
  float* key_mass = nullptr;       // [B, H, Nk]
  float* workspace = nullptr;      // as ForwardOutputs'
};

}  // namespace quest::kernels
