#include "data/formats/jpeg.h"

#include <jpeglib.h>

#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

constexpr std::int64_t kMostPixels = std::int64_t{1} << 26;

// libjpeg expects that this never returns; it is C, built to let exceptions pass.
[[noreturn]] void fail(j_common_ptr decoder) {
  char text[JMSG_LENGTH_MAX] = {};
  decoder->err->format_message(decoder, text);
  throw FormatError("JPEG: " + std::string(text));
}

void fail_on_warning(j_common_ptr decoder, int level) {
  if (level < 0) fail(decoder);
}

}  // namespace

bool can_decode_jpeg() { return true; }

Picture decode_jpeg(std::string_view file) {
  jpeg_error_mgr errors{};
  jpeg_decompress_struct decoder{};
  decoder.err = jpeg_std_error(&errors);
  errors.error_exit = fail;
  errors.emit_message = fail_on_warning;
  jpeg_create_decompress(&decoder);
  const std::unique_ptr<jpeg_decompress_struct, void (*)(j_decompress_ptr)> guard(&decoder, jpeg_destroy_decompress);
  jpeg_mem_src(&decoder, reinterpret_cast<const unsigned char*>(file.data()), file.size());
  jpeg_read_header(&decoder, TRUE);
  decoder.out_color_space = JCS_RGB;
  Picture picture{.height = decoder.image_height, .width = decoder.image_width};
  if (picture.height * picture.width > kMostPixels) {
    throw FormatError("expected a picture of at most " + std::to_string(kMostPixels) + " pixels, found " +
                      std::to_string(picture.height) + " x " + std::to_string(picture.width));
  }
  jpeg_start_decompress(&decoder);
  const auto row_bytes = static_cast<std::size_t>(3 * picture.width);
  picture.rgb.resize(static_cast<std::size_t>(picture.height) * row_bytes);
  while (decoder.output_scanline < decoder.output_height) {
    JSAMPROW row = picture.rgb.data() + decoder.output_scanline * row_bytes;
    jpeg_read_scanlines(&decoder, &row, 1);
  }
  jpeg_finish_decompress(&decoder);
  return picture;
}

}  // namespace quest::data
