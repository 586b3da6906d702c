#include "data/formats/cifar10.h"

#include <string>

#include "data/formats/format_error.h"

namespace quest::data {

void parse_cifar10(std::string_view content, LabelledPixels& images) {
  constexpr std::size_t kArea = kCifarSide * kCifarSide;
  constexpr std::size_t kRecord = 1 + 3 * kArea;
  if (content.empty() || content.size() % kRecord != 0) {
    throw FormatError("expected records of " + std::to_string(kRecord) + " bytes, found " +
                      std::to_string(content.size()) + " bytes; is the file cut off?");
  }
  for (std::size_t record = 0; !content.empty(); ++record, content.remove_prefix(kRecord)) {
    const auto label = static_cast<unsigned char>(content[0]);
    if (label >= kCifarClasses) {
      throw FormatError("record " + std::to_string(record) + ": expected a class from 0 to 9, found " +
                        std::to_string(label));
    }
    images.labels.push_back(label);
    for (std::size_t pixel = 0; pixel < kArea; ++pixel) {
      for (std::size_t colour = 0; colour < 3; ++colour) {
        images.pixels.push_back(static_cast<std::uint8_t>(content[1 + colour * kArea + pixel]));
      }
    }
  }
}

}  // namespace quest::data
