#pragma once

#include <functional>

namespace quest::testing {

// Calls the function once per instruction set that was compiled in and that this machine has.
void for_each_instruction_set(const std::function<void()>& function);

}  // namespace quest::testing
