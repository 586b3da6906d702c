// Ways of calling that programs really use: one tensor as query, key and value, inference mode, several threads at
// once, narrow integers for lengths, sequences too long for a square matrix.

#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>

#include "tests/attention/attention_case.h"
#include "tests/testing/oracle.h"
#include "tests/testing/tensors.h"

namespace quest::testing {
namespace {

TEST(SelfAttention, AddsTheThreeGradientsOfOneTensor) {
  torch::manual_seed(1);
  const at::Tensor x = at::randn({2, 3, 33, 24}).requires_grad_();
  const at::Tensor wide = x.detach().to(at::kDouble).requires_grad_();
  const at::Tensor grad_out = at::randn({2, 3, 33, 24});
  const auto first = torch::autograd::grad({attention(x, x, x)}, {x}, {grad_out}, true, /*create_graph=*/true)[0];
  const auto exact = torch::autograd::grad({oracle_attention(wide, wide, wide, {}).output}, {wide},
                                           {grad_out.to(at::kDouble)}, true, /*create_graph=*/true)[0];
  EXPECT_TRUE(close(first, exact, {.of_largest = 1e-5}));
  EXPECT_TRUE(close(torch::autograd::grad({first.square().sum()}, {x})[0],
                    torch::autograd::grad({exact.square().sum()}, {wide})[0], {.of_largest = 2e-5}));
}

TEST(InferenceMode, GivesTheSameBits) {
  const AttentionInputs inputs = make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 33, .dim = 24}});
  const at::Tensor expected = attention(inputs.q, inputs.k, inputs.v).detach();
  const c10::InferenceMode guard;
  const at::Tensor actual = attention(inputs.q, inputs.k, inputs.v);
  EXPECT_FALSE(actual.requires_grad());
  EXPECT_TRUE(identical(actual, expected));
}

TEST(Lengths, MayBeNarrowIntegersAndStrided) {
  AttentionInputs inputs = make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 9, .dim = 16, .keys = 12}});
  inputs.options.key_lengths = at::tensor(std::vector<std::int64_t>{5, 12});
  const at::Tensor expected = attention(inputs.q, inputs.k, inputs.v, inputs.options);
  inputs.options.key_lengths = inputs.options.key_lengths.to(at::kInt);
  EXPECT_TRUE(identical(attention(inputs.q, inputs.k, inputs.v, inputs.options), expected));
  inputs.options.key_lengths = at::tensor(std::vector<std::int64_t>{5, -1, 12}).slice(0, 0, 3, 2);
  EXPECT_TRUE(identical(attention(inputs.q, inputs.k, inputs.v, inputs.options), expected));
}

TEST(Packed, SequencesEqualSeparateCalls) {
  const AttentionInputs inputs = make_inputs({.shape = {.batch = 1, .heads = 2, .queries = 40, .dim = 24, .keys = 50}});
  const std::vector<std::int64_t> at_q{0, 13, 27, 40};
  const std::vector<std::int64_t> at_k{0, 11, 30, 50};
  for (const CausalAlignment alignment : {CausalAlignment::top_left, CausalAlignment::lower_right}) {
    AttentionOptions options{.is_causal = true, .causal_alignment = alignment};
    AttentionOptions packed = options;
    packed.cu_seqlens_q = at::tensor(at_q).to(at::kInt);
    packed.cu_seqlens_k = at::tensor(at_k).to(at::kInt);
    const at::Tensor output = attention(inputs.q, inputs.k, inputs.v, packed);
    for (std::size_t s = 0; s < 3; ++s) {
      const at::Tensor alone =
          attention(inputs.q.slice(2, at_q[s], at_q[s + 1]), inputs.k.slice(2, at_k[s], at_k[s + 1]),
                    inputs.v.slice(2, at_k[s], at_k[s + 1]), options);
      EXPECT_TRUE(close(output.slice(2, at_q[s], at_q[s + 1]), alone, {.of_largest = 1e-6})) << "sequence " << s;
    }
  }
}

TEST(ConcurrentCalls, DoNotDisturbEachOther) {
  constexpr std::size_t kCallers = 4;
  std::vector<AttentionInputs> inputs;
  std::vector<AttentionOutcome> expected;
  for (std::size_t i = 0; i < kCallers; ++i) {
    inputs.push_back(make_inputs({.shape = {.batch = 2, .heads = 2, .queries = 65, .dim = 32}}, i));
    expected.push_back(differentiate(inputs[i], AttentionPath::fused));
  }
  std::vector<AttentionOutcome> actual(kCallers);
  std::vector<std::thread> callers;
  for (std::size_t i = 0; i < kCallers; ++i) {
    callers.emplace_back([&, i] {
      for (int repeat = 0; repeat < 10; ++repeat) {
        actual[i] = differentiate(inputs[i], AttentionPath::fused);
      }
    });
  }
  for (std::thread& caller : callers) {
    caller.join();
  }
  for (std::size_t i = 0; i < kCallers; ++i) {
    expect_identical(actual[i], expected[i]);
  }
}

// Megabytes of resident memory at the highest point since the last reset; 0 where the system does not tell.
double peak_megabytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmHWM:") {
      double kilobytes = 0.0;
      status >> kilobytes;
      return kilobytes / 1024.0;
    }
  }
  return 0.0;
}

bool reset_peak() {
  std::ofstream reset("/proc/self/clear_refs");
  return static_cast<bool>(reset << "5" << std::flush);
}

TEST(Memory, GrowsWithTheLengthNotItsSquare) {
  if (std::getenv("QUEST_TEST_SET") != nullptr || !reset_peak() || peak_megabytes() == 0.0) {
    GTEST_SKIP() << "memory cannot be measured under a sanitizer or on this system";
  }
  constexpr std::int64_t kLength = 8192;  // a square matrix of floats would take 256 MB
  const auto tensor = [] { return at::randn({1, 1, kLength, 16}).requires_grad_(); };
  const std::vector<at::Tensor> inputs{tensor(), tensor(), tensor()};
  ASSERT_TRUE(reset_peak());
  const double before = peak_megabytes();
  const at::Tensor output = attention(inputs[0], inputs[1], inputs[2]);
  (void)torch::autograd::grad({output.sum()}, inputs);
  EXPECT_LT(peak_megabytes() - before, 40.0);
}

}  // namespace
}  // namespace quest::testing
