#pragma once

#include <cstddef>

namespace quest::testing::ptx {

// That a block of the GPU may have; kernels that ask for more are refused.
void set_largest_shared_memory(std::size_t bytes);

}  // namespace quest::testing::ptx
