#pragma once

// Named attention shapes, and the strings that describe them on the command line.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace quest::bench {

// q [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads, keys, value_dim].
struct AttentionShape {
  std::string name{};
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t queries = 1;
  std::int64_t dim = 1;
  bool causal = false;
  std::int64_t kv_heads = 1;
  std::int64_t keys = 1;
  std::int64_t value_dim = 1;

  friend bool operator==(const AttentionShape&, const AttentionShape&) = default;
};

// The shapes of the published speed table.
[[nodiscard]] std::vector<AttentionShape> model_shapes();

// Those of the table for GPUs.
[[nodiscard]] std::vector<AttentionShape> gpu_shapes();

// Sizes that fit no vector, tile or block.
[[nodiscard]] std::vector<AttentionShape> odd_shapes();

// "B,H,N,D" and any of ",causal", ",kv=HK" (key heads), ",nk=NK" (keys), ",dv=DV" (value dimension); the name is left
// empty. Throws UsageError.
[[nodiscard]] AttentionShape parse_dims(std::string_view text);

// "NAME=B,H,N,D..." as above. Throws UsageError.
[[nodiscard]] AttentionShape parse_named_shape(std::string_view text);

// The inverse of parse_dims, for tables.
[[nodiscard]] std::string dims_text(const AttentionShape& shape);

// The shapes whose names are listed, in that order; all of them when no name is. Throws UsageError for an unknown name.
[[nodiscard]] std::vector<AttentionShape> select_shapes(std::span<const AttentionShape> shapes,
                                                        std::span<const std::string> names);

enum class Pass { forward, forward_backward };

[[nodiscard]] std::string_view pass_name(Pass pass);

// Floating-point operations of the two products of the forward, and of the five of the backward. The half of a causal
// product that is never used is not counted.
[[nodiscard]] double attention_flops(const AttentionShape& shape, Pass pass);

// Bytes that cross the memory bus at least: every input read once and every output written once.
[[nodiscard]] double attention_bytes(const AttentionShape& shape, Pass pass, double element_bytes);

}  // namespace quest::bench
