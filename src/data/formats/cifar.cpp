#include "data/formats/cifar.h"

#include <array>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

void expect_class(std::string_view record, std::size_t byte, std::int64_t classes, std::size_t number) {
  const auto found = static_cast<unsigned char>(record[byte]);
  if (found < classes) return;
  throw FormatError("record " + std::to_string(number) + ": expected a class from 0 to " + std::to_string(classes - 1) +
                    ", found " + std::to_string(found));
}

// The last of the classes is the label.
template <std::size_t kLabels>
void parse(std::string_view content, const std::array<std::int64_t, kLabels>& classes, LabelledPixels& images) {
  constexpr std::size_t kArea = kCifarSide * kCifarSide;
  constexpr std::size_t kRecord = kLabels + 3 * kArea;
  if (content.empty() || content.size() % kRecord != 0) {
    throw FormatError("expected records of " + std::to_string(kRecord) + " bytes, found " +
                      std::to_string(content.size()) + " bytes; is the file cut off?");
  }
  for (std::size_t record = 0; !content.empty(); ++record, content.remove_prefix(kRecord)) {
    for (std::size_t i = 0; i < kLabels; ++i) expect_class(content, i, classes[i], record);
    images.labels.push_back(static_cast<std::uint8_t>(content[kLabels - 1]));
    for (std::size_t pixel = 0; pixel < kArea; ++pixel) {
      for (std::size_t colour = 0; colour < 3; ++colour) {
        images.pixels.push_back(static_cast<std::uint8_t>(content[kLabels + colour * kArea + pixel]));
      }
    }
  }
}

}  // namespace

void parse_cifar10(std::string_view content, LabelledPixels& images) { parse<1>(content, {kCifarClasses}, images); }

void parse_cifar100(std::string_view content, LabelledPixels& images) {
  constexpr std::int64_t kCoarseClasses = 20;
  parse<2>(content, {kCoarseClasses, kCifar100Classes}, images);
}

}  // namespace quest::data
