#include <stdexcept>

#include "report/charts/png.h"

namespace quest::report {

const bool kDrawsPng = false;

void write_png(const std::string& /*svg*/, const std::filesystem::path& file) {
  throw std::runtime_error("drawing \"" + file.string() +
                           "\" needs librsvg, which this program was built without; install librsvg2-dev and build "
                           "again. The SVG files are complete.");
}

}  // namespace quest::report
