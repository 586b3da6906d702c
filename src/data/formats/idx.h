#pragma once

// The format of the MNIST family: two zero bytes, the type, the rank, the sizes as big-endian integers, the values.
// Needs no torch.

#include <cstdint>
#include <string_view>
#include <vector>

namespace quest::data {

struct IdxBytes {
  std::vector<std::int64_t> shape;
  std::string_view values;  // inside the content that was parsed
};

// Unsigned bytes are the one type that the data sets use. Throws FormatError.
IdxBytes parse_idx(std::string_view content);

}  // namespace quest::data
