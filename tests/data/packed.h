#pragma once

// Packs content as gzip and xz do, for tests of what unpacks it.

#include <lzma.h>
#include <zlib.h>

#include <string>

namespace quest::testing {

inline std::string gzipped(const std::string& content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string packed(deflateBound(&stream, content.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  return packed;
}

inline std::string xzipped(const std::string& content) {
  std::string packed(lzma_stream_buffer_bound(content.size()), '\0');
  std::size_t size = 0;
  lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, nullptr, reinterpret_cast<const std::uint8_t*>(content.data()),
                          content.size(), reinterpret_cast<std::uint8_t*>(packed.data()), &size, packed.size());
  packed.resize(size);
  return packed;
}

}  // namespace quest::testing
