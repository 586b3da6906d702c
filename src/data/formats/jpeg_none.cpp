#include "data/formats/format_error.h"
#include "data/formats/jpeg.h"

namespace quest::data {

bool can_decode_jpeg() { return false; }

Picture decode_jpeg(std::string_view /*file*/, std::int64_t /*least_side*/) {
  throw FormatError("this program was built without libjpeg and reads no JPEG; install libjpeg-dev and build it again");
}

}  // namespace quest::data
