#include "data/formats/format_error.h"
#include "data/formats/png.h"

namespace quest::data {

bool can_decode_png() { return false; }

Picture decode_png(std::string_view /*file*/) {
  throw FormatError("this program was built without libpng and reads no PNG; install libpng-dev and build it again");
}

}  // namespace quest::data
