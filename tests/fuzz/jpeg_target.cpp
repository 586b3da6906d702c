#include <algorithm>

#include "data/formats/jpeg.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    constexpr std::int64_t kSide = 5;
    const auto picture = quest::data::decode_jpeg(content);
    quest::fuzz::promise(static_cast<std::int64_t>(picture.rgb.size()) == 3 * picture.height * picture.width);
    const auto small = quest::data::decode_jpeg(content, kSide);
    quest::fuzz::promise(static_cast<std::int64_t>(small.rgb.size()) == 3 * small.height * small.width);
    const auto shorter = std::min(picture.height, picture.width);
    quest::fuzz::promise(std::min(small.height, small.width) >= std::min(shorter, kSide));
  });
}
