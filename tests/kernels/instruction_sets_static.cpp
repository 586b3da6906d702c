#include "tests/kernels/instruction_sets.h"

namespace quest::testing {

void for_each_instruction_set(const std::function<void()>& function) { function(); }

}  // namespace quest::testing
