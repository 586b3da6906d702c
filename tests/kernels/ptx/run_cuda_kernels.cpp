#include "tests/kernels/ptx/run_cuda_kernels.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <stdexcept>

#include "kernels/cuda/attention.h"
#include "tools/ptx/cuda_runtime.h"
#include "tools/ptx/memory.h"

namespace quest::testing {
namespace {

namespace cuda = kernels::cuda;
using kernels::AttentionProblem;
using kernels::MaskType;

void check(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + " returned error " + std::to_string(error));
}

class Run {
 public:
  Run(const TestProblem& test, const cuda::DeviceInfo& gpu)
      : test_(test), problem_(test.problem), launch_{.device = gpu}, batch_(test.stored_batch()) {
    ptx::set_largest_shared_memory(static_cast<std::size_t>(gpu.block_shared_memory));
    for (const Buffer* buffer : {&test.q, &test.k, &test.v, &test.grad_out, &test.additive_mask}) show(*buffer);
    show(test.gain);
    for (const auto* lengths : {&test.key_lengths, &test.cu_seqlens_q, &test.cu_seqlens_k}) show(*lengths);
    const AttentionProblem& p = problem_;
    const bool masked = p.mask.type == MaskType::boolean;
    const std::int64_t mask_size = masked ? p.batch * std::max(p.mask.batch_stride, p.keys) : 0;
    shown_.emplace_back(test.boolean_mask.get(), static_cast<std::size_t>(mask_size));
    results_.out = unwritten_rows(p.heads, p.queries, p.value_dim);
    results_.grad_q = unwritten_rows(p.heads, p.queries, p.dim);
    results_.grad_k = unwritten_rows(p.kv_heads, p.keys, p.dim);
    results_.grad_v = unwritten_rows(p.kv_heads, p.keys, p.value_dim);
    for (const Buffer* buffer : {&results_.out, &results_.grad_q, &results_.grad_k, &results_.grad_v}) show(*buffer);
  }

  KernelResults results() {
    forward();
    backward();
    statistics();
    return std::move(results_);
  }

 private:
  template <typename T>
  void show(const std::vector<T>& values) {
    shown_.emplace_back(values.data(), values.size() * sizeof(T));
  }
  void show(const Buffer& buffer) {
    const kernels::Input rows = buffer.input();
    const std::size_t element = buffer.type() == StorageType::float32 ? 4 : 2;
    shown_.emplace_back(rows.data, static_cast<std::size_t>(buffer.batch() * rows.batch_stride) * element);
  }
  [[nodiscard]] Buffer unwritten_rows(std::int64_t heads, std::int64_t rows, std::int64_t dim) const {
    return {problem_.type, test_.layout, batch_, heads, rows, dim};
  }
  float* unwritten(std::vector<float>& values, std::int64_t count) {
    values.assign(static_cast<std::size_t>(count), std::numeric_limits<float>::quiet_NaN());
    show(values);
    return values.data();
  }

  float* workspace(std::int64_t count) { return unwritten(workspaces_.emplace_back(), count); }

  void forward() {
    const AttentionProblem& p = problem_;
    const kernels::ForwardOutputs outputs{
        .out = results_.out.output(),
        .lse = unwritten(results_.lse, batch_ * p.heads * p.queries),
        .lse_low = unwritten(results_.lse_low, is_additive(p.mask.type) ? batch_ * p.heads * p.queries : 0),
        .workspace = workspace(cuda::forward_workspace(p, launch_.device)),
    };
    check(cuda::forward(p, outputs, launch_), "forward");
  }

  void backward() {
    const AttentionProblem& p = problem_;
    const bool gain_gradient = p.gain != nullptr;
    float* grad_gain = unwritten(results_.grad_gain, gain_gradient ? p.heads * p.dim : 0);
    const kernels::BackwardArguments arguments{
        .out = results_.out.input(),
        .grad_out = test_.grad_out.input(),
        .lse = results_.lse.data(),
        .lse_low = results_.lse_low.data(),
        .grad_q = results_.grad_q.output(),
        .grad_k = results_.grad_k.output(),
        .grad_v = results_.grad_v.output(),
        .grad_gain = gain_gradient ? grad_gain : nullptr,
        .workspace = workspace(cuda::backward_workspace(p, gain_gradient, launch_.device)),
    };
    check(cuda::backward(p, arguments, launch_), "backward");
    if (!is_additive(p.mask.type)) return;
    const Buffer& mask = test_.additive_mask;
    float* grad_mask = unwritten(results_.grad_mask, mask.batch() * mask.heads() * mask.rows() * p.keys);
    check(cuda::mask_backward(p, arguments, {grad_mask, mask.batch(), mask.heads(), mask.rows()}, launch_),
          "mask_backward");
  }

  void statistics() {
    const AttentionProblem& p = problem_;
    const std::int64_t queries = batch_ * p.heads * p.queries;
    const kernels::StatisticsOutputs outputs{
        .lse = results_.lse.data(),
        .lse_low = results_.lse_low.data(),
        .max_logit = unwritten(results_.max_logit, queries),
        .entropy = unwritten(results_.entropy, queries),
        .q_norm = unwritten(results_.q_norm, queries),
        .k_norm = unwritten(results_.k_norm, batch_ * p.kv_heads * p.keys),
        .key_mass = unwritten(results_.key_mass, batch_ * p.heads * p.keys),
        .workspace = workspace(cuda::statistics_workspace(p)),
    };
    check(cuda::statistics(p, outputs, launch_), "statistics");
  }

  const TestProblem& test_;
  const AttentionProblem& problem_;
  cuda::Launch launch_;
  std::int64_t batch_;
  KernelResults results_;
  std::deque<std::vector<float>> workspaces_;
  std::deque<ptx::Shown> shown_;
};

}  // namespace

KernelResults run_cuda_kernels(const TestProblem& test, const cuda::DeviceInfo& gpu) {
  return Run(test, gpu).results();
}

}  // namespace quest::testing
