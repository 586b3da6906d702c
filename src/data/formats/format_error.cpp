#include "data/formats/format_error.h"

#include <cstddef>

namespace quest::data {

std::string in_quotes(std::string_view text) {
  constexpr std::size_t kLongest = 80;
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string result = "\"";
  for (const char letter : text.substr(0, kLongest)) {
    const auto byte = static_cast<unsigned char>(letter);
    if (byte >= 0x20 && byte < 0x7f) {
      result += letter;
    } else {
      result += {'\\', 'x', kDigits[byte / 16], kDigits[byte % 16]};
    }
  }
  return result + (text.size() > kLongest ? "…\"" : "\"");
}

std::string with_name(const std::filesystem::path& path, std::string_view problem) {
  return "\"" + path.string() + "\": " + std::string(problem);
}

}  // namespace quest::data
