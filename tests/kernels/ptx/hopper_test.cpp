// The kernels for Hopper, without one: as portable_test.cpp. Two multiprocessors, so that persistent blocks take
// several heads each.

#include <gtest/gtest.h>

#include "kernels/cuda/choice.h"
#include "tests/kernels/ptx/comparison.h"
#include "tests/kernels/ptx/families.h"
#include "tests/kernels/ptx/run_cuda_kernels.h"

namespace quest::testing {
namespace {

using kernels::Causal;
using kernels::cuda::KernelFamily;

constexpr kernels::cuda::DeviceInfo kSmallH200{
    .compute_capability = 90, .multiprocessors = 2, .block_shared_memory = 232448};

struct HopperCase {
  KernelFamily family;
  KernelCase test;
};
void PrintTo(const HopperCase& hopper, std::ostream* stream) { *stream << hopper.test; }

class HopperKernels : public ::testing::TestWithParam<HopperCase> {};

TEST_P(HopperKernels, MatchScalarLoops) {
  const TestProblem test(GetParam().test);
  ASSERT_EQ(kernels::cuda::choose_family(test.problem, kSmallH200.compute_capability).family, GetParam().family);
  expect_scalar_results(test, run_cuda_kernels(test, kSmallH200));
}

std::string case_name(const ::testing::TestParamInfo<HopperCase>& info) { return info.param.test.name(); }

std::vector<HopperCase> all_cases() {
  std::vector<HopperCase> cases;
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16}) {
    for (const Causal causal : {Causal::none, Causal::top_left}) {
      for (const auto& [dim, length] : {std::pair{16, 37},
                                        {16, 260},
                                        {32, 65},
                                        {64, 50},
                                        {64, 130},
                                        {64, 197},
                                        {64, 257},
                                        {80, 257},
                                        {96, 100},
                                        {96, 300},
                                        {128, 70},
                                        {128, 200}}) {
        cases.push_back({KernelFamily::whole_head, plain_case(length, dim, type, causal)});
      }
      for (const auto& [dim, length] : {std::pair{24, 200}, {64, 700}, {120, 300}, {128, 300}}) {
        cases.push_back({KernelFamily::long_sequence, plain_case(length, dim, type, causal)});
      }
    }
  }
  // So long that a block keeps two of the four tensors at a time.
  for (const StorageType type : {StorageType::bfloat16, StorageType::float16}) {
    cases.push_back({KernelFamily::whole_head, plain_case(820, 16, type, Causal::none)});
    cases.push_back({KernelFamily::whole_head, plain_case(450, 32, type, Causal::none)});
    cases.push_back({KernelFamily::whole_head, plain_case(700, 80, type, Causal::top_left)});
    cases.push_back({KernelFamily::whole_head, plain_case(100, 80, type, Causal::none)});
  }
  // Several heads for each block, and keys that heads share.
  KernelCase heads = plain_case(197, 64, StorageType::bfloat16, Causal::none);
  heads.batch = 2;
  heads.heads = heads.kv_heads = 3;
  heads.layout = Layout::heads_inside_rows;
  cases.push_back({KernelFamily::whole_head, heads});
  KernelCase shared = plain_case(200, 128, StorageType::bfloat16, Causal::none);
  shared.heads = 4;
  shared.kv_heads = 2;
  cases.push_back({KernelFamily::long_sequence, shared});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Lengths, HopperKernels, ::testing::ValuesIn(all_cases()), case_name);

}  // namespace
}  // namespace quest::testing
