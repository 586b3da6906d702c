#include "data/formats/jpeg.h"

#include <jerror.h>
#include <jpeglib.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr unsigned kCmyk = 4;
// Each scan of a progressive file goes over the whole picture: a short file could ask for hours.
constexpr int kMostScans = 100;

// libjpeg expects that this never returns; it is C, built to let exceptions pass.
[[noreturn]] void fail(j_common_ptr decoder) {
  char text[JMSG_LENGTH_MAX] = {};
  decoder->err->format_message(decoder, text);
  throw FormatError("JPEG: " + std::string(text));
}

// Cameras and editors write such files, and nothing of the picture is missing.
bool is_harmless(int message) {
  return message == JWRN_EXTRANEOUS_DATA || message == JWRN_JFIF_MAJOR || message == JWRN_ADOBE_XFORM ||
         message == JWRN_BOGUS_PROGRESSION;
}

void fail_on_warning(j_common_ptr decoder, int level) {
  if (level < 0 && !is_harmless(decoder->err->msg_code)) fail(decoder);
}

void fail_on_many_scans(j_common_ptr decoder) {
  const int scans = reinterpret_cast<j_decompress_ptr>(decoder)->input_scan_number;
  if (scans > kMostScans) {
    throw FormatError("JPEG: expected at most " + std::to_string(kMostScans) + " scans of the picture, found more");
  }
}

// In eighths. The scales in between are not vectorised: they take longer than the whole picture.
unsigned scale_for(std::int64_t height, std::int64_t width, std::int64_t least_side) {
  const auto shorter = std::min(height, width);
  for (const unsigned eighths : {1U, 2U, 4U}) {
    if (least_side > 0 && (shorter * eighths + 7) / 8 >= least_side) return eighths;
  }
  return 8;
}

// Files with four colours hold them inverted, as Photoshop writes them.
void rgb_from_inverted_cmyk(const std::uint8_t* cmyk, std::int64_t pixels, std::uint8_t* rgb) {
  for (std::int64_t i = 0; i < pixels; ++i) {
    const unsigned white = cmyk[4 * i + 3];
    for (int colour = 0; colour < 3; ++colour) {
      const unsigned product = (255U - cmyk[4 * i + colour]) * white + 128U;
      rgb[3 * i + colour] = static_cast<std::uint8_t>(white - ((product + (product >> 8)) >> 8));
    }
  }
}

void read_rows(jpeg_decompress_struct& decoder, Picture& picture) {
  std::vector<std::uint8_t> four_colours(decoder.output_components == kCmyk ? kCmyk * decoder.output_width : 0);
  while (decoder.output_scanline < decoder.output_height) {
    auto* const rgb = picture.rgb.data() + static_cast<std::size_t>(3 * picture.width) * decoder.output_scanline;
    JSAMPROW row = four_colours.empty() ? rgb : four_colours.data();
    jpeg_read_scanlines(&decoder, &row, 1);
    if (!four_colours.empty()) rgb_from_inverted_cmyk(row, picture.width, rgb);
  }
}

}  // namespace

bool can_decode_jpeg() { return true; }

Picture decode_jpeg(std::string_view file, std::int64_t least_side) {
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  jpeg_decompress_struct decoder{};
  decoder.err = jpeg_std_error(&errors);
  errors.error_exit = fail;
  errors.emit_message = fail_on_warning;
  progress.progress_monitor = fail_on_many_scans;
  jpeg_create_decompress(&decoder);
  const std::unique_ptr<jpeg_decompress_struct, void (*)(j_decompress_ptr)> guard(&decoder, jpeg_destroy_decompress);
  decoder.progress = &progress;
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder, TRUE);
  require_pixels(decoder.image_height, decoder.image_width);
  const bool has_four_colours = decoder.jpeg_color_space == JCS_CMYK || decoder.jpeg_color_space == JCS_YCCK;
  decoder.out_color_space = has_four_colours ? JCS_CMYK : JCS_RGB;
  decoder.scale_num = scale_for(decoder.image_height, decoder.image_width, least_side);
  decoder.scale_denom = 8;
  jpeg_start_decompress(&decoder);
  Picture picture{.height = decoder.output_height, .width = decoder.output_width};
  picture.rgb.resize(static_cast<std::size_t>(3 * picture.height * picture.width));
  read_rows(decoder, picture);
  jpeg_finish_decompress(&decoder);
  return picture;
}

}  // namespace quest::data
