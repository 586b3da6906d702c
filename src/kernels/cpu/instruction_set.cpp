// Which of the compiled instruction sets runs here.

#include "kernels/cpu/targets.h"
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/instruction_set.cpp"
#include "hwy/foreach_target.h"
// foreach_target must come first
#include "hwy/highway.h"
#include "kernels/cpu/attention.h"

HWY_BEFORE_NAMESPACE();
namespace quest::kernels::cpu::HWY_NAMESPACE {
namespace {
const char* target_name() { return hwy::TargetName(HWY_TARGET); }
}  // namespace
}  // namespace quest::kernels::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace quest::kernels::cpu {
HWY_EXPORT(target_name);

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace quest::kernels::cpu
#endif
