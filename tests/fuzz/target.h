#pragma once

// What every target does with its bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "data/formats/format_error.h"

namespace quest::fuzz {

// A reader returns or throws a FormatError; any other exception ends the program, which libFuzzer reports.
template <typename Read>
int try_to_read(const std::uint8_t* bytes, std::size_t size, const Read& read) {
  try {
    read(std::string_view(reinterpret_cast<const char*>(bytes), size));
  } catch (const data::FormatError&) {
    return 0;
  }
  return 0;
}

inline void promise(bool kept) {
  if (!kept) std::abort();
}

}  // namespace quest::fuzz
