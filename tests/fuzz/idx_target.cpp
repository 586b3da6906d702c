#include "data/formats/idx.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    const auto idx = quest::data::parse_idx(content);
    double values = 1.0;  // which does not wrap around
    for (const std::int64_t length : idx.shape) values *= static_cast<double>(length);
    quest::fuzz::promise(!idx.shape.empty() && values == static_cast<double>(idx.values.size()));
  });
}
