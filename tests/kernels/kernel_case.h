#pragma once

// A problem on plain buffers, built from a handful of choices, and the kernels run on it.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "kernels/attention_problem.h"
#include "tests/kernels/storage.h"

namespace quest::testing {

enum class GainKind { none, scalar, head, dim, head_and_dim };
enum class MaskKind { none, boolean, boolean_row, additive_float32, additive_row, additive_stored };
enum class LengthKind { none, key_lengths, packed };

struct KernelCase {
  std::int64_t queries = 17;
  std::int64_t keys = 17;
  std::int64_t dim = 16;
  std::int64_t value_dim = 16;
  std::int64_t kv_heads = 2;
  std::int64_t batch = 2;
  std::int64_t heads = 2;
  StorageType type = StorageType::float32;
  bool normalize_q = false;
  bool normalize_k = true;
  GainKind gain = GainKind::none;
  MaskKind mask = MaskKind::none;
  kernels::Causal causal = kernels::Causal::none;
  LengthKind lengths = LengthKind::none;
  float dropout = 0.0F;
  Layout layout = Layout::dense;

  [[nodiscard]] std::string name() const;
};
std::ostream& operator<<(std::ostream& stream, const KernelCase& test);

// Every legal pair of choices, over odd sizes, in about a hundred small cases.
std::vector<KernelCase> pairwise_kernel_cases();

// Owns what `problem` points to.
struct TestProblem {
  explicit TestProblem(const KernelCase& test, std::uint64_t seed = 1);
  TestProblem(const TestProblem&) = delete;
  TestProblem& operator=(const TestProblem&) = delete;

  [[nodiscard]] std::int64_t stored_batch() const { return q.batch(); }

  kernels::AttentionProblem problem;
  Layout layout;
  Buffer q, k, v, grad_out;
  std::vector<float> gain;
  std::unique_ptr<bool[]> boolean_mask;
  Buffer additive_mask;
  std::vector<std::int64_t> key_lengths, cu_seqlens_q, cu_seqlens_k;

 private:
  void fill_gain(const KernelCase& test, Random& random);
  void fill_mask(const KernelCase& test, Random& random);
  void fill_lengths(const KernelCase& test);
};

// The gradient of an additive mask from that of the logits: a broadcast mask gathers those of all it was added to.
std::vector<double> mask_gradient(const TestProblem& test, const std::vector<double>& grad_logits);

// Runs work(begin, end) until [0, tasks) is done, in whatever order and on whatever threads.
using Split = std::function<void(std::int64_t tasks, const std::function<void(std::int64_t, std::int64_t)>& work)>;
Split all_at_once();
Split one_by_one_backwards();
Split over_threads(int threads);

struct KernelResults {
  Buffer out, grad_q, grad_k, grad_v;
  std::vector<float> lse, lse_low, max_logit, entropy, q_norm, k_norm, key_mass, grad_gain, grad_mask;
};

KernelResults run_kernels(const TestProblem& test, const Split& split);

}  // namespace quest::testing
