#include "data/formats/cifar.h"
#include "data/formats/image_pack.h"
#include "tests/fuzz/target.h"

// A file of CIFAR's binary versions; or the index of a pack, up to the first zero, and the pack.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  static_cast<void>(quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    quest::data::LabelledPixels images;
    quest::data::parse_cifar10(content, images);
    quest::fuzz::promise(images.pixels.size() == 3072 * images.labels.size());
    for (const auto label : images.labels) quest::fuzz::promise(label < 10);
  }));
  static_cast<void>(quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    quest::data::LabelledPixels images;
    quest::data::parse_cifar100(content, images);
    quest::fuzz::promise(images.pixels.size() == 3072 * images.labels.size());
    for (const auto label : images.labels) quest::fuzz::promise(label < 100);
  }));
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    const auto end = std::min(content.find('\0'), content.size());
    const auto pack = content.substr(end);
    for (const auto& image : quest::data::parse_pack_index(content.substr(0, end), pack.size(), 10)) {
      quest::fuzz::promise(image.label >= 0 && image.label < 10 && image.offset + image.length <= pack.size());
      quest::fuzz::promise(image.sum.has_value() != image.name.empty());
    }
  });
}
