#include "report/charts/text_fit.h"

#include <algorithm>
#include <cmath>

namespace quest::report {
namespace {

bool starts_letter(char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }

}  // namespace

double text_width(std::string_view text) {
  return kLetterWidth * static_cast<double>(std::ranges::count_if(text, starts_letter));
}

double text_width(const std::vector<std::string>& texts) {
  double width = 0.0;
  for (const auto& text : texts) width = std::max(width, text_width(text));
  return width;
}

std::string shortened(std::string_view text, double width) {
  if (text_width(text) <= width) return std::string(text);
  const auto letters = std::max(1.0, std::floor(width / kLetterWidth) - 1.0);
  std::string result;
  double taken = 0.0;
  for (const char c : text) {
    if (starts_letter(c) && ++taken > letters) break;
    result += c;
  }
  return result + "…";
}

std::size_t label_stride(double wanted, double room) {
  if (!(room > 0.0)) return 1;
  return static_cast<std::size_t>(std::max(1.0, std::ceil(wanted / room)));
}

}  // namespace quest::report
