#pragma once

// The one list of shapes that the accuracy tests prove and the benchmark measures. No tensor type here.

#include <array>
#include <cstdint>
#include <string_view>

namespace quest::bench {

struct NamedShape {
  std::string_view name;
  std::int64_t batch = 1;
  std::int64_t heads = 1;
  std::int64_t queries = 1;
  std::int64_t dim = 1;
  bool causal = false;
  std::int64_t keys = 0;       // 0: as many as queries
  std::int64_t value_dim = 0;  // 0: as dim
  std::int64_t kv_heads = 0;   // 0: as heads

  [[nodiscard]] constexpr std::int64_t key_count() const { return keys == 0 ? queries : keys; }
  [[nodiscard]] constexpr std::int64_t value_size() const { return value_dim == 0 ? dim : value_dim; }
  [[nodiscard]] constexpr std::int64_t kv_head_count() const { return kv_heads == 0 ? heads : kv_heads; }
};

// What the models of the paper ask for; the default shapes of `quest bench attention`.
inline constexpr std::array kModelShapes{
    NamedShape{.name = "vit-ti", .batch = 16, .heads = 3, .queries = 197, .dim = 64},
    NamedShape{.name = "vit-b", .batch = 4, .heads = 12, .queries = 197, .dim = 64},
    NamedShape{.name = "lm-small", .batch = 16, .heads = 8, .queries = 256, .dim = 16, .causal = true},
    NamedShape{.name = "lm-medium", .batch = 8, .heads = 8, .queries = 384, .dim = 32, .causal = true},
    NamedShape{.name = "series", .batch = 4, .heads = 8, .queries = 405, .dim = 16},
    NamedShape{.name = "long", .batch = 1, .heads = 8, .queries = 2048, .dim = 64},
    NamedShape{.name = "d128", .batch = 1, .heads = 8, .queries = 1024, .dim = 128, .causal = true},
    NamedShape{.name = "graph", .batch = 32, .heads = 4, .queries = 40, .dim = 16},
    NamedShape{.name = "short", .batch = 750, .heads = 1, .queries = 21, .dim = 20},
};

// The same at the batch sizes a GPU is trained with, and long sequences; the shapes of `quest bench attention --device
// cuda`.
inline constexpr std::array kGpuShapes{
    NamedShape{.name = "vit-ti", .batch = 256, .heads = 3, .queries = 197, .dim = 64},
    NamedShape{.name = "vit-b", .batch = 256, .heads = 12, .queries = 197, .dim = 64},
    NamedShape{.name = "vit-l", .batch = 128, .heads = 16, .queries = 197, .dim = 64},
    NamedShape{.name = "vit-h14", .batch = 64, .heads = 16, .queries = 257, .dim = 80},
    NamedShape{.name = "lm-small", .batch = 96, .heads = 8, .queries = 256, .dim = 16, .causal = true},
    NamedShape{.name = "seg-s", .batch = 8, .heads = 6, .queries = 1024, .dim = 64},
    NamedShape{.name = "ptv3", .batch = 256, .heads = 8, .queries = 1024, .dim = 32},
    NamedShape{.name = "ts", .batch = 16, .heads = 8, .queries = 1751, .dim = 16},
    NamedShape{.name = "gpt2-1k", .batch = 16, .heads = 12, .queries = 1024, .dim = 64, .causal = true},
    NamedShape{.name = "d128-4k", .batch = 4, .heads = 16, .queries = 4096, .dim = 128},
    NamedShape{.name = "d128-4k-causal", .batch = 4, .heads = 16, .queries = 4096, .dim = 128, .causal = true},
    NamedShape{.name = "d64-8k", .batch = 2, .heads = 16, .queries = 8192, .dim = 64},
    NamedShape{.name = "d128-16k", .batch = 1, .heads = 16, .queries = 16384, .dim = 128, .causal = true},
};

// Sizes that fit no vector, tile or block: kernels must be right and not slow here either.
inline constexpr std::array kOddShapes{
    NamedShape{.name = "n1-d24", .batch = 64, .heads = 4, .queries = 1, .dim = 24},
    NamedShape{.name = "n1-k257-d64", .batch = 8, .heads = 4, .queries = 1, .dim = 64, .keys = 257},
    NamedShape{.name = "n2-d8", .batch = 16, .heads = 4, .queries = 2, .dim = 8},
    NamedShape{.name = "n15-d40", .batch = 16, .heads = 4, .queries = 15, .dim = 40},
    NamedShape{.name = "n17-d100", .batch = 32, .heads = 4, .queries = 17, .dim = 100},
    NamedShape{.name = "n17-k1-d16", .batch = 8, .heads = 2, .queries = 17, .dim = 16, .keys = 1},
    NamedShape{.name = "n63-d96-causal", .batch = 8, .heads = 4, .queries = 63, .dim = 96, .causal = true},
    NamedShape{.name = "n65-d20-causal", .batch = 8, .heads = 4, .queries = 65, .dim = 20, .causal = true},
    NamedShape{.name = "n65-k197-d32", .batch = 8, .heads = 4, .queries = 65, .dim = 32, .keys = 197},
    NamedShape{.name = "n197-d1", .batch = 4, .heads = 2, .queries = 197, .dim = 1},
    NamedShape{
        .name = "n197-k63-d64-v80", .batch = 4, .heads = 2, .queries = 197, .dim = 64, .keys = 63, .value_dim = 80},
    NamedShape{.name = "n257-d80", .batch = 4, .heads = 4, .queries = 257, .dim = 80},
    NamedShape{
        .name = "n257-k577-d40-v3", .batch = 2, .heads = 4, .queries = 257, .dim = 40, .keys = 577, .value_dim = 3},
    NamedShape{.name = "n577-d96", .batch = 2, .heads = 4, .queries = 577, .dim = 96},
    NamedShape{.name = "n577-d24-causal", .batch = 2, .heads = 4, .queries = 577, .dim = 24, .causal = true},
    NamedShape{.name = "n577-d128-v20", .batch = 1, .heads = 2, .queries = 577, .dim = 128, .value_dim = 20},
    NamedShape{.name = "gqa4-n256-d64-causal",
               .batch = 4,
               .heads = 8,
               .queries = 256,
               .dim = 64,
               .causal = true,
               .kv_heads = 2},
    NamedShape{.name = "mqa-n65-d100", .batch = 4, .heads = 6, .queries = 65, .dim = 100, .kv_heads = 1},
    NamedShape{.name = "n65-d200-v129", .batch = 2, .heads = 2, .queries = 65, .dim = 200, .value_dim = 129},
};

}  // namespace quest::bench
