// Results depend on nobody's turn: whatever order blocks and warps run in, every bit is the same.

#include <gtest/gtest.h>

#include "tests/kernels/ptx/families.h"
#include "tests/kernels/ptx/run_cuda_kernels.h"
#include "tests/kernels/same.h"
#include "tools/ptx/block.h"

namespace quest::testing {
namespace {

class Turns : public ::testing::TestWithParam<Family> {};
INSTANTIATE_TEST_SUITE_P(Families, Turns, ::testing::ValuesIn(kFamilies), family_name);

TEST_P(Turns, ChangeNoBit) {
  KernelCase several = GetParam().test(kernels::Causal::top_left);
  several.batch = 2;
  several.heads = several.kv_heads = 2;
  const TestProblem test(several);
  const KernelResults forwards = run_cuda_kernels(test, GetParam().gpu);
  ptx::set_turns(ptx::Turns::backwards);
  const KernelResults backwards = run_cuda_kernels(test, GetParam().gpu);
  ptx::set_turns(ptx::Turns::forwards);
  EXPECT_TRUE(same(backwards.out, forwards.out)) << "out";
  EXPECT_TRUE(same(backwards.grad_q, forwards.grad_q)) << "grad_q";
  EXPECT_TRUE(same(backwards.grad_k, forwards.grad_k)) << "grad_k";
  EXPECT_TRUE(same(backwards.grad_v, forwards.grad_v)) << "grad_v";
  EXPECT_EQ(backwards.lse, forwards.lse);
  EXPECT_EQ(backwards.entropy, forwards.entropy);
  EXPECT_EQ(backwards.key_mass, forwards.key_mass);
}

}  // namespace
}  // namespace quest::testing
