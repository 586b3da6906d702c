#include "data/formats/png.h"

#include <png.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

// libpng expects that this never returns; it is C, built to let exceptions pass.
[[noreturn]] void fail(png_structp /*decoder*/, png_const_charp message) {
  throw FormatError("PNG: " + std::string(message));
}

// What libpng warns of concerns what is beside the picture.
void ignore(png_structp /*decoder*/, png_const_charp /*message*/) {}

void give(png_structp decoder, png_bytep bytes, std::size_t count) {
  auto& rest = *static_cast<std::string_view*>(png_get_io_ptr(decoder));
  if (count > rest.size()) throw FormatError("PNG: the file ends before the picture does; is it cut off?");
  std::memcpy(bytes, rest.data(), count);
  rest.remove_prefix(count);
}

class Decoder {
 public:
  Decoder()
      : png_(png_create_read_struct(PNG_LIBPNG_VER_STRING, nullptr, fail, ignore)),
        info_(png_ == nullptr ? nullptr : png_create_info_struct(png_)) {
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw FormatError("PNG: libpng cannot start: out of memory, or another version than it was built for");
    }
  }
  ~Decoder() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Decoder(const Decoder&) = delete;
  Decoder& operator=(const Decoder&) = delete;

  [[nodiscard]] png_structp png() const { return png_; }
  [[nodiscard]] png_infop info() const { return info_; }

 private:
  png_structp png_;
  png_infop info_;
};

// Whatever the kind, three bytes a pixel.
void ask_for_rgb(png_structp png, png_infop info) {
  const auto kind = png_get_color_type(png, info);
  if (kind == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (kind == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png, info) < 8) png_set_expand_gray_1_2_4_to_8(png);
  if (kind == PNG_COLOR_TYPE_GRAY || kind == PNG_COLOR_TYPE_GRAY_ALPHA) png_set_gray_to_rgb(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
  png_set_interlace_handling(png);
  png_read_update_info(png, info);
}

}  // namespace

bool can_decode_png() { return true; }

Picture decode_png(std::string_view file) {
  const Decoder decoder;
  png_set_read_fn(decoder.png(), &file, give);
  png_read_info(decoder.png(), decoder.info());
  Picture picture{.height = png_get_image_height(decoder.png(), decoder.info()),
                  .width = png_get_image_width(decoder.png(), decoder.info())};
  require_pixels(picture.height, picture.width);
  ask_for_rgb(decoder.png(), decoder.info());
  const auto row_bytes = static_cast<std::size_t>(3 * picture.width);
  if (png_get_rowbytes(decoder.png(), decoder.info()) != row_bytes) {
    throw FormatError("PNG: expected rows of 3 bytes a pixel from libpng, which has another kind in mind");
  }
  picture.rgb.resize(static_cast<std::size_t>(picture.height) * row_bytes);
  std::vector<png_bytep> rows;
  for (std::int64_t row = 0; row < picture.height; ++row) {
    rows.push_back(picture.rgb.data() + static_cast<std::size_t>(row) * row_bytes);
  }
  png_read_image(decoder.png(), rows.data());
  png_read_end(decoder.png(), nullptr);
  return picture;
}

}  // namespace quest::data
