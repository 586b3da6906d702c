// The kernels for every GPU from compute capability 8.0 on, without one: against plain double loops. The interpreter
// fails where a kernel leaves its buffers, where nothing orders two accesses to shared memory, and where lanes or warps
// wait in vain.

#include <gtest/gtest.h>

#include "kernels/cpu/attention.h"
#include "kernels/cuda/attention.h"
#include "tests/kernels/large_mask.h"
#include "tests/kernels/ptx/comparison.h"
#include "tests/kernels/ptx/families.h"
#include "tests/kernels/ptx/run_cuda_kernels.h"
#include "tools/ptx/memory.h"

namespace quest::testing {
namespace {

// How much shared memory a block may have decides between kernels.
constexpr kernels::cuda::DeviceInfo kRtx4090{
    .compute_capability = 89, .multiprocessors = 128, .block_shared_memory = 101376};

// The operators copy rows that are whole words of 16 bytes at other addresses.
KernelCase as_operators_give_it(KernelCase test) {
  const std::int64_t word = test.type == StorageType::float32 ? 4 : 8;
  const bool whole_words = test.dim % word == 0 || test.value_dim % word == 0;
  if (test.layout == Layout::padded_rows && whole_words) test.layout = Layout::dense;
  return test;
}

class PortableKernels : public ::testing::TestWithParam<KernelCase> {};

TEST_P(PortableKernels, MatchScalarLoops) {
  const TestProblem test(as_operators_give_it(GetParam()));
  expect_scalar_results(test, run_cuda_kernels(test, kA100));
  // Beyond this head dimension other kernels serve where blocks have less shared memory.
  if (GetParam().dim >= 96) {
    SCOPED_TRACE("with 99 KiB of shared memory");
    expect_scalar_results(test, run_cuda_kernels(test, kRtx4090));
  }
}

std::string case_name(const ::testing::TestParamInfo<KernelCase>& info) { return info.param.name(); }

INSTANTIATE_TEST_SUITE_P(Pairwise, PortableKernels, ::testing::ValuesIn(pairwise_kernel_cases()), case_name);

// Every width and type with what has kernels or loops of its own, over several tiles of queries and keys.
std::vector<KernelCase> kernels_of_their_own() {
  std::vector<KernelCase> cases;
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16, StorageType::float32}) {
    for (const std::int64_t dim : {16, 32, 64, 96, 128, 192, 256}) {
      const KernelCase plain{.queries = 130,
                             .keys = 150,
                             .dim = dim,
                             .value_dim = dim,
                             .kv_heads = 1,
                             .batch = 1,
                             .heads = 1,
                             .type = type};
      std::vector<KernelCase> options(6, plain);
      options[1].causal = kernels::Causal::top_left;
      options[2].mask = MaskKind::boolean;
      options[3].mask = MaskKind::additive_stored;
      options[4].dropout = 0.25F;
      options[5].normalize_k = false;
      cases.insert(cases.end(), options.begin(), options.end());
    }
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Widths, PortableKernels, ::testing::ValuesIn(kernels_of_their_own()), case_name);

// Blocks of 128 keys where these leave little of the last one empty; gains of so few dimensions that nothing is
// rounded.
std::vector<KernelCase> kernels_of_few_problems() {
  std::vector<KernelCase> cases;
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16}) {
    for (const MaskKind mask : {MaskKind::none, MaskKind::additive_stored}) {
      cases.push_back({.queries = 70,
                       .keys = 250,
                       .dim = 128,
                       .value_dim = 128,
                       .kv_heads = 1,
                       .batch = 1,
                       .heads = 1,
                       .type = type,
                       .mask = mask});
    }
  }
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16, StorageType::float32}) {
    cases.push_back({.dim = 7, .value_dim = 7, .type = type, .gain = GainKind::head_and_dim});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Few, PortableKernels, ::testing::ValuesIn(kernels_of_few_problems()), case_name);

class LargeMasks : public ::testing::TestWithParam<KernelCase> {};

TEST_P(LargeMasks, GiveTheForwardsWeightsToEveryPass) {
  TestProblem test(GetParam());
  make_scores_exact(test);
  fill_with_large_numbers(test, 1);
  expect_scalar_results(test, run_cuda_kernels(test, kA100));
  SCOPED_TRACE("with 99 KiB of shared memory");
  expect_scalar_results(test, run_cuda_kernels(test, kRtx4090));
}

std::vector<KernelCase> large_mask_cases() {
  std::vector<KernelCase> cases;
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16, StorageType::float32}) {
    for (const std::int64_t width : {16, 64, 128, 256}) {
      KernelCase test{.queries = 70,
                      .keys = 90,
                      .dim = width == 128 ? 64 : width,
                      .value_dim = width,
                      .kv_heads = 1,
                      .batch = 1,
                      .heads = 1,
                      .type = type,
                      .mask = MaskKind::additive_stored};
      cases.push_back(test);
      test.normalize_k = false;
      test.mask = MaskKind::additive_float32;
      test.dropout = width == 64 ? 0.25F : 0.0F;
      cases.push_back(test);
    }
  }
  cases.push_back({.keys = 65, .mask = MaskKind::additive_row, .lengths = LengthKind::key_lengths});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(AnyFiniteSize, LargeMasks, ::testing::ValuesIn(large_mask_cases()), case_name);

TEST(Dropout, IsThatOfTheCpu) {
  constexpr std::int64_t kHeads = 3, kQueries = 37, kKeys = 129;
  constexpr std::uint64_t kSeed = (1ULL << 62U) + 1;
  std::vector<float> actual(kHeads * kQueries * kKeys), expected(actual.size());
  const ptx::Shown shown(actual.data(), actual.size() * sizeof(float));
  ASSERT_EQ(kernels::cuda::dropout_factors(0.3F, kSeed, 1, kHeads, kQueries, kKeys, actual.data(), {.device = kA100}),
            cudaSuccess);
  for (std::int64_t head = 0; head < kHeads; ++head) {
    kernels::cpu::dropout_factors(0.3F, kSeed, 0, head, kQueries, kKeys, expected.data() + head * kQueries * kKeys);
  }
  EXPECT_EQ(actual, expected);
}

}  // namespace
}  // namespace quest::testing
