// The list of instruction sets must be set before any highway header is read.
#include "kernels/cpu/targets.h"
// clang-format off
#include <hwy/targets.h>
// clang-format on

#include <gtest/gtest.h>

#include "kernels/cpu/attention.h"
#include "tests/kernels/instruction_sets.h"

namespace quest::testing {

void for_each_instruction_set(const std::function<void()>& function) {
  for (const std::int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    const ::testing::ScopedTrace trace(__FILE__, __LINE__, kernels::cpu::instruction_set());
    function();
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().DeInit();
}

}  // namespace quest::testing
