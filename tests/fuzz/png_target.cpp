#include "data/formats/png.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    const auto picture = quest::data::decode_png(content);
    quest::fuzz::promise(static_cast<std::int64_t>(picture.rgb.size()) == 3 * picture.height * picture.width);
  });
}
