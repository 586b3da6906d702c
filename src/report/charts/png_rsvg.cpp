#include <cairo.h>
#include <librsvg/rsvg.h>

#include <memory>
#include <stdexcept>

#include "report/charts/png.h"

namespace quest::report {
namespace {

constexpr double kPixelsPerUnit = 2.0;

template <auto function>
struct Call {
  template <typename T>
  void operator()(T* object) const {
    function(object);
  }
};

using Handle = std::unique_ptr<RsvgHandle, Call<g_object_unref>>;
using Surface = std::unique_ptr<cairo_surface_t, Call<cairo_surface_destroy>>;
using Canvas = std::unique_ptr<cairo_t, Call<cairo_destroy>>;

[[noreturn]] void fail(const std::filesystem::path& file, const std::string& why) {
  throw std::runtime_error("drawing \"" + file.string() + "\" failed: " + why);
}

}  // namespace

const bool kDrawsPng = true;

void write_png(const std::string& svg, const std::filesystem::path& file) {
  const Handle handle(
      rsvg_handle_new_from_data(reinterpret_cast<const guint8*>(svg.data()), static_cast<gsize>(svg.size()), nullptr));
  if (!handle) fail(file, "the figure is not valid SVG");
  double width = 0.0;
  double height = 0.0;
  if (rsvg_handle_get_intrinsic_size_in_pixels(handle.get(), &width, &height) == 0) fail(file, "it has no size");
  const RsvgRectangle viewport{0.0, 0.0, kPixelsPerUnit * width, kPixelsPerUnit * height};
  const Surface surface(cairo_image_surface_create(CAIRO_FORMAT_RGB24, static_cast<int>(viewport.width),
                                                   static_cast<int>(viewport.height)));
  const Canvas canvas(cairo_create(surface.get()));
  if (rsvg_handle_render_document(handle.get(), canvas.get(), &viewport, nullptr) == 0) {
    fail(file, "librsvg could not render it");
  }
  const cairo_status_t status = cairo_surface_write_to_png(surface.get(), file.c_str());
  if (status != CAIRO_STATUS_SUCCESS) fail(file, cairo_status_to_string(status));
}

}  // namespace quest::report
