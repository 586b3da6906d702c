#pragma once

// Where the rows of one sequence lie and which keys order lets a query see. Constant expressions, so that kernels on
// every device share them.

#include <cstdint>

#include "kernels/attention_problem.h"

namespace quest::kernels {

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }
constexpr std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

// Rows of one batch entry or of one packed sequence. A GPU's lengths are read by nobody before the kernel, so they are
// brought into range here.
struct Sequence {
  std::int64_t index = 0;
  std::int64_t batch = 0;  // position in the tensors' batch dimension
  std::int64_t first_query = 0;
  std::int64_t queries = 0;
  std::int64_t first_key = 0;
  std::int64_t keys = 0;           // keys that exist
  std::int64_t keys_stored = 0;    // keys present in memory, padding included
  std::int64_t first_key_row = 0;  // over the dense rows of all sequences

  constexpr Sequence(const AttentionProblem& p, std::int64_t s) : index(s) {
    if (p.cu_seqlens_q != nullptr) {
      first_query = inside(p.cu_seqlens_q[s], 0, p.queries);
      queries = inside(p.cu_seqlens_q[s + 1], first_query, p.queries) - first_query;
      first_key = inside(p.cu_seqlens_k[s], 0, p.keys);
      keys = keys_stored = inside(p.cu_seqlens_k[s + 1], first_key, p.keys) - first_key;
      first_key_row = first_key;
    } else {
      batch = s;
      queries = p.queries;
      keys_stored = p.keys;
      keys = p.key_lengths != nullptr ? inside(p.key_lengths[s], 0, p.keys) : p.keys;
      first_key_row = s * p.keys;
    }
  }

 private:
  static constexpr std::int64_t inside(std::int64_t value, std::int64_t least, std::int64_t most) {
    return value < least ? least : value > most ? most : value;
  }
};

// Rows of the dense [B, H, Nq] and [B, Hk, Nk] outputs.
constexpr std::int64_t dense_row(std::int64_t batch, std::int64_t heads, std::int64_t head, std::int64_t rows,
                                 std::int64_t row) {
  return (batch * heads + head) * rows + row;
}

constexpr std::int64_t total_key_rows(const AttentionProblem& p) {
  return p.cu_seqlens_q != nullptr ? p.keys : p.batch * p.keys;
}

// Which keys a query may see, as far as order decides it: keys [0, limit(row)).
struct CausalLimit {
  bool active = false;
  std::int64_t offset = 0;
  std::int64_t keys = 0;

  constexpr CausalLimit(Causal causal, const Sequence& s)
      : active(causal != Causal::none), offset(causal == Causal::lower_right ? s.keys - s.queries : 0), keys(s.keys) {}

  [[nodiscard]] constexpr std::int64_t limit(std::int64_t row) const {
    if (!active) return keys;
    const std::int64_t seen = row + 1 + offset;
    return seen < 0 ? 0 : seen > keys ? keys : seen;
  }
  // The first query that sees key `key`.
  [[nodiscard]] constexpr std::int64_t first_row(std::int64_t key) const {
    return active && key > offset ? key - offset : 0;
  }
};

}  // namespace quest::kernels
