#include "tests/kernels/ptx/comparison.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "kernels/cuda/attention.h"
#include "tests/kernels/ptx/memory.h"
#include "tests/kernels/scalar_reference.h"
#include "tests/testing/closeness.h"

namespace quest::testing {
namespace {

namespace cuda = kernels::cuda;
using kernels::AttentionProblem;
using kernels::MaskType;
using ptx::Shown;

std::size_t bytes_of(StorageType type) { return type == StorageType::float32 ? 4 : 2; }

// Floats that kernels may write; NaN until then.
class Floats {
 public:
  explicit Floats(std::int64_t count)
      : values_(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN()),
        shown_(values_.data(), values_.size() * sizeof(float)) {}
  [[nodiscard]] float* data() { return values_.data(); }
  [[nodiscard]] std::vector<double> values() const { return {values_.begin(), values_.end()}; }

 private:
  std::vector<float> values_;
  Shown shown_;
};

Shown show(const Buffer& buffer) {
  const kernels::Input input = buffer.input();
  return {input.data, static_cast<std::size_t>(buffer.batch() * input.batch_stride) * bytes_of(buffer.type())};
}

template <typename T>
Shown show(const std::vector<T>& values) {
  return {values.data(), values.size() * sizeof(T)};
}

// Runs every kernel of a problem and compares what they write.
class Comparison {
 public:
  Comparison(const TestProblem& test, const cuda::DeviceInfo& gpu, const Roundings& roundings)
      : test_(test),
        problem_(test.problem),
        launch_{.device = gpu},
        roundings_(roundings),
        batch_(test.stored_batch()) {}

  void run() {
    const Shown q = show(test_.q), k = show(test_.k), v = show(test_.v), grad_out = show(test_.grad_out);
    const Shown gain = show(test_.gain), additive_mask = show(test_.additive_mask), lengths = show(test_.key_lengths);
    const Shown ends_q = show(test_.cu_seqlens_q), ends_k = show(test_.cu_seqlens_k);
    const AttentionProblem& p = problem_;
    const Shown boolean_mask(
        test_.boolean_mask.get(),
        static_cast<std::size_t>(p.mask.type == MaskType::boolean ? p.batch * std::max(p.mask.batch_stride, p.keys)
                                                                  : 0));
    run_forward();
    run_backward();
    run_statistics();
  }

 private:
  [[nodiscard]] double roundings(double count) const {
    constexpr double kFloat32Error = 5e-6;
    return problem_.type == StorageType::float32 ? kFloat32Error : count * unit_roundoff(problem_.type);
  }
  [[nodiscard]] Bound of_terms(double count, const std::vector<double>& terms) const {
    return {.absolute = roundings(count) * largest_magnitude(terms)};
  }

  void run_forward() {
    const AttentionProblem& p = problem_;
    Floats workspace(cuda::forward_workspace(p, launch_.device));
    out_ = Buffer(p.type, test_.layout, batch_, p.heads, p.queries, p.value_dim);
    const Shown out = show(out_);
    ASSERT_EQ(cuda::forward(p, {.out = out_.output(), .lse = lse_.data(), .workspace = workspace.data()}, launch_),
              cudaSuccess);
    exact_ = scalar_attention(p, test_.grad_out);
    EXPECT_TRUE(all_close(out_.values(), exact_.out, of_terms(roundings_.out, test_.v.values()),
                          {batch_, p.heads, p.queries, p.value_dim}))
        << "out";
    EXPECT_TRUE(all_close(lse_.values(), exact_.lse, {.of_largest = roundings(1), .absolute = roundings(1)},
                          {batch_, p.heads, p.queries}))
        << "lse";
    EXPECT_TRUE(out_.gaps_untouched());
  }

  void run_backward() {
    const AttentionProblem& p = problem_;
    const bool gain_gradient = p.gain != nullptr;
    Floats workspace(cuda::backward_workspace(p, gain_gradient, launch_.device));
    Floats grad_gain(gain_gradient ? p.heads * p.dim : 0);
    Buffer grad_q(p.type, test_.layout, batch_, p.heads, p.queries, p.dim);
    Buffer grad_k(p.type, test_.layout, batch_, p.kv_heads, p.keys, p.dim);
    Buffer grad_v(p.type, test_.layout, batch_, p.kv_heads, p.keys, p.value_dim);
    const Shown out = show(out_), shown_q = show(grad_q), shown_k = show(grad_k), shown_v = show(grad_v);
    const kernels::BackwardArguments arguments{.out = out_.input(),
                                               .grad_out = test_.grad_out.input(),
                                               .lse = lse_.data(),
                                               .grad_q = grad_q.output(),
                                               .grad_k = grad_k.output(),
                                               .grad_v = grad_v.output(),
                                               .grad_gain = gain_gradient ? grad_gain.data() : nullptr,
                                               .workspace = workspace.data()};
    ASSERT_EQ(cuda::backward(p, arguments, launch_), cudaSuccess);
    const ScalarResults terms = scalar_magnitudes(p, test_.grad_out);
    const auto close = [&](const Buffer& actual, const std::vector<double>& exact, const std::vector<double>& size,
                           const char* name) {
      EXPECT_TRUE(all_close(actual.values(), exact, of_terms(roundings_.gradients, size),
                            {actual.batch(), actual.heads(), actual.rows(), actual.dim()}))
          << name;
      EXPECT_TRUE(actual.gaps_untouched()) << name;
    };
    close(grad_q, exact_.grad_q, terms.grad_q, "grad_q");
    close(grad_k, exact_.grad_k, terms.grad_k, "grad_k");
    close(grad_v, exact_.grad_v, terms.grad_v, "grad_v");
    if (gain_gradient) {
      EXPECT_TRUE(all_close(grad_gain.values(), exact_.grad_gain, of_terms(roundings_.gradients, terms.grad_gain),
                            {p.heads, p.dim}))
          << "grad_gain";
    }
    if (p.mask.type == MaskType::none || p.mask.type == MaskType::boolean) return;
    const Buffer& mask = test_.additive_mask;
    Floats grad_mask(mask.batch() * mask.heads() * mask.rows() * p.keys);
    ASSERT_EQ(cuda::mask_backward(p, arguments, {grad_mask.data(), mask.batch(), mask.heads(), mask.rows()}, launch_),
              cudaSuccess);
    EXPECT_TRUE(all_close(grad_mask.values(), mask_gradient(test_, exact_.grad_logits),
                          of_terms(roundings_.gradients, mask_gradient(test_, terms.grad_logits)),
                          {mask.batch(), mask.heads(), mask.rows(), p.keys}))
        << "grad_mask";
  }

  void run_statistics() {
    const AttentionProblem& p = problem_;
    const std::int64_t rows = batch_ * p.heads * p.queries;
    Floats workspace(cuda::statistics_workspace(p));
    Floats max_logit(rows), entropy(rows), q_norm(rows);
    Floats k_norm(batch_ * p.kv_heads * p.keys), key_mass(batch_ * p.heads * p.keys);
    ASSERT_EQ(cuda::statistics(p,
                               {.lse = lse_.data(),
                                .max_logit = max_logit.data(),
                                .entropy = entropy.data(),
                                .q_norm = q_norm.data(),
                                .k_norm = k_norm.data(),
                                .key_mass = key_mass.data(),
                                .workspace = workspace.data()},
                               launch_),
              cudaSuccess);
    const auto close = [&](const Floats& actual, const std::vector<double>& exact, const char* name) {
      const Bound bound{.of_largest = roundings(1), .absolute = roundings(1)};
      EXPECT_TRUE(all_close(actual.values(), exact, bound, {static_cast<std::int64_t>(exact.size())})) << name;
    };
    close(max_logit, exact_.max_logit, "max_logit");
    close(entropy, exact_.entropy, "entropy");
    close(q_norm, exact_.q_norm, "q_norm");
    close(k_norm, exact_.k_norm, "k_norm");
    close(key_mass, exact_.key_mass, "key_mass");
  }

  const TestProblem& test_;
  const AttentionProblem& problem_;
  cuda::Launch launch_;
  Roundings roundings_;
  std::int64_t batch_;
  Floats lse_{batch_ * problem_.heads * problem_.queries};
  Buffer out_;
  ScalarResults exact_;
};

}  // namespace

void expect_scalar_results(const TestProblem& test, const cuda::DeviceInfo& gpu, const Roundings& roundings) {
  Comparison(test, gpu, roundings).run();
}

}  // namespace quest::testing
