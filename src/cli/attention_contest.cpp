#include "cli/attention_contest.h"

#include <ATen/Functions.h>
#include <torch/nn/functional/normalization.h>
#include <torch/types.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <utility>

#include "cli/table.h"
#include "cli/unit_gain.h"
#include "quest/attention.h"

namespace quest::cli {
namespace {

constexpr std::uint64_t kSeed = 20260101;

// Bound on the relative difference between two sound computations in this storage type.
double agreement_bound(at::ScalarType type) {
  switch (type) {
    case at::kDouble:
      return 1e-10;
    case at::kHalf:
      return 1e-2;
    case at::kBFloat16:
      return 4e-2;
    default:
      return 1e-4;
  }
}

at::Tensor unit_rows(const at::Tensor& x) {
  return torch::nn::functional::normalize(x, torch::nn::functional::NormalizeFuncOptions().p(2).dim(-1));
}

double norm_of(const at::Tensor& x) { return x.to(at::kDouble).norm().item<double>(); }

}  // namespace

AttentionContest::AttentionContest(const AttentionShape& shape, const ContestOptions& options)
    : shape_(shape), options_(options), gain_(unit_gain(options.formulation, shape)) {
  torch::manual_seed(kSeed);
  const auto leaf = at::TensorOptions().dtype(options.dtype);
  q_ = at::randn({shape.batch, shape.heads, shape.queries, shape.dim}, leaf).requires_grad_();
  k_ = at::randn({shape.batch, shape.kv_heads, shape.keys, shape.dim}, leaf).requires_grad_();
  v_ = at::randn({shape.batch, shape.kv_heads, shape.keys, shape.value_dim}, leaf).requires_grad_();
  grad_output_ = at::randn({shape.batch, shape.heads, shape.queries, shape.value_dim}, leaf);
}

at::Tensor AttentionContest::ours() const {
  AttentionOptions options;
  options.formulation = options_.formulation;
  options.gain = gain_;
  options.is_causal = shape_.causal;
  options.enable_gqa = shape_.kv_heads != shape_.heads;
  return attention(q_, k_, v_, options);
}

at::Tensor AttentionContest::torch_version(const Formulation& formulation) const {
  return at::scaled_dot_product_attention(
      formulation.normalize_q ? unit_rows(q_) : q_, formulation.normalize_k ? unit_rows(k_) : k_, v_, std::nullopt, 0.0,
      shape_.causal, formulation.default_scale(shape_.dim), shape_.kv_heads != shape_.heads);
}

std::vector<at::Tensor> AttentionContest::output_and_gradients(const Function& attention) const {
  const auto output = attention();
  output.backward(grad_output_);
  std::vector<at::Tensor> results = {output.detach()};
  for (const auto* leaf : {&q_, &k_, &v_}) {
    results.push_back(leaf->grad());
    leaf->mutable_grad().reset();
  }
  return results;
}

void AttentionContest::check_agreement() const {
  static constexpr std::array<const char*, 4> kNames = {"output", "gradient of q", "gradient of k", "gradient of v"};
  const auto ours_results = output_and_gradients([this] { return ours(); });
  const auto torch_results = output_and_gradients([this] { return torch_version(options_.formulation); });
  const double bound = agreement_bound(options_.dtype);
  // Gradients of a single visible key are 0 up to rounding: they are judged by the size of what is sent back.
  const double least_size = norm_of(grad_output_);
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    const double difference =
        norm_of(ours_results[i] - torch_results[i]) / std::max(norm_of(torch_results[i]), least_size);
    if (difference <= bound) continue;
    throw std::runtime_error("shape " + dims_text(shape_) + ": the " + kNames[i] + " differs from torch's by " +
                             three_digits(difference) + " of its size, expected at most " + three_digits(bound) +
                             "; its speed is not measured");
  }
}

Contestant AttentionContest::contestant(Function attention, Pass pass) const {
  if (pass == Pass::forward) {
    return [attention = std::move(attention)] {
      const at::NoGradGuard inference;
      const double start = steady_seconds();
      const auto output = attention();
      return steady_seconds() - start;
    };
  }
  return [this, attention = std::move(attention)] {
    for (const auto* leaf : {&q_, &k_, &v_}) leaf->mutable_grad().reset();
    const double start = steady_seconds();
    attention().backward(grad_output_);
    return steady_seconds() - start;
  };
}

BenchRow AttentionContest::measure(Pass pass, const MeasurePlan& plan,
                                   const std::function<void(double)>& on_progress) const {
  const std::array<Contestant, 3> contestants = {
      contestant([this] { return ours(); }, pass),
      contestant([this] { return torch_version(formulations::standard); }, pass),
      contestant([this] { return torch_version(formulations::quest); }, pass)};
  const auto times = measure_interleaved(contestants, plan, on_progress);
  return {.shape = shape_,
          .pass = pass,
          .ours_ms = times[0].median_ms,
          .torch_standard_ms = times[1].median_ms,
          .torch_quest_ms = times[2].median_ms,
          .relative_spread = std::max({times[0].relative_spread, times[1].relative_spread, times[2].relative_spread})};
}

}  // namespace quest::cli
