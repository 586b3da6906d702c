#pragma once

// From tensors to what a kernel reads: checks the arguments, makes rows dense, brings lengths to where q is.

#include <array>
#include <cstdint>
#include <vector>

#include "kernels/attention_problem.h"
#include "ops/tensors.h"

namespace quest::ops {

// What every attention operator takes after its tensors.
struct CommonArguments {
  OptionalTensor gain;
  OptionalTensor mask;
  OptionalTensor key_lengths;
  OptionalTensor cu_seqlens_q;
  OptionalTensor cu_seqlens_k;
  bool normalize_q = false;
  bool normalize_k = false;
  double scale = 1.0;
  std::int64_t causal = 0;
  double dropout_p = 0.0;
  std::int64_t dropout_seed = 0;
};

// Throws where an argument breaks a rule. `v` is null where only the weights are asked for.
void check(const Tensor& q, const Tensor& k, const Tensor* v, const CommonArguments& common);

// The mask as [batch, heads, queries, keys], each 1 where it is broadcast.
[[nodiscard]] std::array<std::int64_t, 4> mask_shape(const Tensor& mask);

// Then a log-sum-exp has two parts.
[[nodiscard]] inline bool has_additive_mask(const CommonArguments& common) {
  return common.mask && common.mask->scalar_type() != ScalarType::Bool;
}

// A problem together with the memory it points into.
class PreparedProblem {
 public:
  PreparedProblem(const Tensor& q, const Tensor& k, const Tensor* v, const CommonArguments& common);
  PreparedProblem(const PreparedProblem&) = delete;
  PreparedProblem& operator=(const PreparedProblem&) = delete;

  [[nodiscard]] const kernels::AttentionProblem& problem() const { return problem_; }
  // Arithmetic of one forward pass, counted as if nothing were masked.
  [[nodiscard]] double flops() const;
  // No query, or nothing to attend to.
  [[nodiscard]] bool is_empty() const;

 private:
  kernels::Input view_rows(const Tensor& tensor);
  void set_gain(const Tensor& gain);
  void set_mask(const Tensor& mask);
  const std::int64_t* keep_beside(const Tensor& q, const Tensor& lengths);
  // Lengths in host memory are checked; those on a GPU are not looked at, its kernels bring them into range.
  void set_lengths(const Tensor& q, const CommonArguments& common);

  kernels::AttentionProblem problem_;
  std::vector<Tensor> kept_;
};

// For tensors beside the problem's own: an output that was just allocated, an input whose rows are dense.
[[nodiscard]] kernels::Input view_input(const Tensor& dense_rows);
[[nodiscard]] kernels::Output view_output(const Tensor& contiguous);

}  // namespace quest::ops
