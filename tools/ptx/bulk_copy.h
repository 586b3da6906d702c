#pragma once

#include <cstdint>

namespace quest::testing::ptx {

// What the interpreter's run-time library leaves where the driver would put a tensor map of its own: a tensor of four
// dimensions and a 16-bit type, in boxes of box_rows rows of 64 columns with the 128-byte swizzle.
struct TensorMap {
  std::uint64_t data = 0;
  std::uint64_t sizes[4] = {};
  std::uint64_t strides[3] = {};  // bytes, of all dimensions but the first
  std::uint32_t box_rows = 0;
};

}  // namespace quest::testing::ptx
