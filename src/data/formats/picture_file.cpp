#include "data/formats/picture_file.h"

#include <array>
#include <string>
#include <utility>

#include "data/formats/format_error.h"
#include "data/formats/jpeg.h"
#include "data/formats/png.h"

namespace quest::data {
namespace {

using namespace std::string_view_literals;

constexpr auto kJpeg = "\xff\xd8\xff"sv;
constexpr auto kPng = "\x89PNG\r\n\x1a\n"sv;
constexpr std::array<std::pair<std::string_view, const char*>, 7> kOthers = {{{"GIF8", "a GIF"},
                                                                              {"BM", "a BMP"},
                                                                              {"RIFF", "a RIFF file, such as WebP"},
                                                                              {"II*\0"sv, "a TIFF"},
                                                                              {"MM\0*"sv, "a TIFF"},
                                                                              {"<!", "a page of HTML"},
                                                                              {"<html", "a page of HTML"}}};

std::string kind_of(std::string_view file) {
  if (file.empty()) return "a file of 0 bytes";
  if (file.find_first_not_of('\0') == std::string_view::npos) return "nothing but zeros";
  for (const auto& [begin, kind] : kOthers) {
    if (file.starts_with(begin)) return kind;
  }
  return "a file that begins with " + in_quotes(file.substr(0, 8));
}

}  // namespace

Picture decode_picture(std::string_view file, std::int64_t least_side) {
  if (file.starts_with(kJpeg)) return decode_jpeg(file, least_side);
  if (file.starts_with(kPng)) return decode_png(file);
  throw FormatError("expected a JPEG or PNG picture, found " + kind_of(file));
}

}  // namespace quest::data
