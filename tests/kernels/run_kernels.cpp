#include <algorithm>
#include <limits>
#include <thread>

#include "kernels/cpu/attention.h"
#include "tests/kernels/kernel_case.h"

namespace quest::testing {

using namespace kernels;

Split all_at_once() {
  return [](std::int64_t tasks, const auto& work) { work(0, tasks); };
}

Split one_by_one_backwards() {
  return [](std::int64_t tasks, const auto& work) {
    for (std::int64_t task = tasks - 1; task >= 0; --task) {
      work(task, task + 1);
    }
  };
}

Split over_threads(int threads) {
  return [threads](std::int64_t tasks, const auto& work) {
    std::vector<std::thread> pool;
    for (int t = 0; t < threads; ++t) {
      pool.emplace_back([=, &work] { work(tasks * t / threads, tasks * (t + 1) / threads); });
    }
    for (std::thread& thread : pool) {
      thread.join();
    }
  };
}

namespace {

std::vector<float> unwritten(std::int64_t size) {
  return std::vector<float>(static_cast<std::size_t>(size), std::numeric_limits<float>::quiet_NaN());
}

void run_backward(const TestProblem& test, const Split& split, KernelResults& results) {
  const AttentionProblem& problem = test.problem;
  const bool gain_gradient = problem.gain != nullptr;
  std::vector<float> workspace = unwritten(cpu::backward_workspace(problem, gain_gradient));
  results.grad_gain = unwritten(gain_gradient ? problem.heads * problem.dim : 0);
  const kernels::BackwardArguments arguments{
      .out = results.out.input(),
      .grad_out = test.grad_out.input(),
      .lse = results.lse.data(),
      .lse_low = results.lse_low.data(),
      .grad_q = results.grad_q.output(),
      .grad_k = results.grad_k.output(),
      .grad_v = results.grad_v.output(),
      .grad_gain = gain_gradient ? results.grad_gain.data() : nullptr,
      .workspace = workspace.data(),
  };
  split(cpu::backward_tasks(problem),
        [&](std::int64_t begin, std::int64_t end) { cpu::backward(problem, arguments, begin, end); });
  split(cpu::backward_reduce_tasks(problem, gain_gradient),
        [&](std::int64_t begin, std::int64_t end) { cpu::backward_reduce(problem, arguments, begin, end); });
  if (!is_additive(problem.mask.type)) {
    return;
  }
  const Buffer& mask = test.additive_mask;
  results.grad_mask = unwritten(mask.batch() * mask.heads() * mask.rows() * problem.keys);
  const kernels::MaskGradient gradient{.data = results.grad_mask.data(),
                                       .mask_batch = mask.batch(),
                                       .mask_heads = mask.heads(),
                                       .mask_rows = mask.rows()};
  split(cpu::mask_backward_tasks(problem, gradient),
        [&](std::int64_t begin, std::int64_t end) { cpu::mask_backward(problem, arguments, gradient, begin, end); });
}

void run_statistics(const TestProblem& test, const Split& split, KernelResults& results) {
  const AttentionProblem& problem = test.problem;
  const std::int64_t batch = test.stored_batch();
  results.max_logit = results.entropy = results.q_norm = unwritten(batch * problem.heads * problem.queries);
  results.k_norm = unwritten(batch * problem.kv_heads * problem.keys);
  results.key_mass = unwritten(batch * problem.heads * problem.keys);
  const kernels::StatisticsOutputs outputs{
      .lse = results.lse.data(),
      .lse_low = results.lse_low.data(),
      .max_logit = results.max_logit.data(),
      .entropy = results.entropy.data(),
      .q_norm = results.q_norm.data(),
      .k_norm = results.k_norm.data(),
      .key_mass = results.key_mass.data(),
  };
  split(cpu::statistics_tasks(problem),
        [&](std::int64_t begin, std::int64_t end) { cpu::statistics(problem, outputs, begin, end); });
}

}  // namespace

KernelResults run_kernels(const TestProblem& test, const Split& split) {
  const AttentionProblem& problem = test.problem;
  const std::int64_t batch = test.stored_batch();
  KernelResults results;
  results.out = Buffer(problem.type, test.layout, batch, problem.heads, problem.queries, problem.value_dim);
  results.grad_q = Buffer(problem.type, test.layout, batch, problem.heads, problem.queries, problem.dim);
  results.grad_k = Buffer(problem.type, test.layout, batch, problem.kv_heads, problem.keys, problem.dim);
  results.grad_v = Buffer(problem.type, test.layout, batch, problem.kv_heads, problem.keys, problem.value_dim);
  results.lse = unwritten(batch * problem.heads * problem.queries);
  if (is_additive(problem.mask.type)) results.lse_low = results.lse;

  const kernels::ForwardOutputs outputs{
      .out = results.out.output(), .lse = results.lse.data(), .lse_low = results.lse_low.data()};
  split(cpu::forward_tasks(problem),
        [&](std::int64_t begin, std::int64_t end) { cpu::forward(problem, outputs, begin, end); });
  run_backward(test, split, results);
  run_statistics(test, split, results);
  return results;
}

}  // namespace quest::testing
