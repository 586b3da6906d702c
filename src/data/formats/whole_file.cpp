#include "data/formats/whole_file.h"

#include <lzma.h>
#include <zlib.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "data/formats/format_error.h"
#include "data/formats/input_file.h"

namespace quest::data {
namespace {

constexpr std::uint64_t kXzMemory = std::uint64_t{1} << 30;
constexpr std::size_t kPiece = 1 << 18;

[[noreturn]] void fail_unpacking(const char* format, std::size_t unpacked) {
  throw FormatError(std::string(format) + ": the packed content is broken or cut off after " +
                    std::to_string(unpacked) + " unpacked bytes; fetch or copy the file again");
}

// Room for the next piece at the end of what is unpacked so far.
void grow(std::string& unpacked, std::size_t filled, std::uint64_t largest) {
  if (filled > largest) {
    throw FormatError("expected at most " + std::to_string(largest) + " bytes of unpacked content, found more");
  }
  unpacked.resize(filled + kPiece);
}

std::string unpack_gzip(std::string_view packed, std::uint64_t largest) {
  constexpr int kGzipWindow = 15 + 16;
  z_stream stream{};
  if (inflateInit2(&stream, kGzipWindow) != Z_OK) throw FormatError("gzip: the unpacker cannot start: out of memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::string unpacked;
  std::size_t filled = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END || !packed.empty()) {
    // A file may consist of several members.
    if (status == Z_STREAM_END && inflateReset(&stream) != Z_OK) fail_unpacking("gzip", filled);
    grow(unpacked, filled, largest);
    const auto piece = packed.substr(0, kPiece);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(piece.data()));  // zlib reads it only
    stream.avail_in = static_cast<uInt>(piece.size());
    stream.next_out = reinterpret_cast<Bytef*>(unpacked.data() + filled);
    stream.avail_out = kPiece;
    status = inflate(&stream, Z_NO_FLUSH);
    if (status != Z_OK && status != Z_STREAM_END) fail_unpacking("gzip", filled);
    packed.remove_prefix(piece.size() - stream.avail_in);
    filled += kPiece - stream.avail_out;
  }
  unpacked.resize(filled);
  return unpacked;
}

std::string unpack_xz(std::string_view packed, std::uint64_t largest) {
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kXzMemory, LZMA_CONCATENATED) != LZMA_OK) {
    throw FormatError("xz: the unpacker cannot start: out of memory");
  }
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> guard(&stream, lzma_end);
  std::string unpacked;
  std::size_t filled = 0;
  stream.next_in = reinterpret_cast<const std::uint8_t*>(packed.data());
  stream.avail_in = packed.size();
  lzma_ret status = LZMA_OK;
  while (status != LZMA_STREAM_END) {
    grow(unpacked, filled, largest);
    stream.next_out = reinterpret_cast<std::uint8_t*>(unpacked.data() + filled);
    stream.avail_out = kPiece;
    status = lzma_code(&stream, LZMA_FINISH);
    if (status != LZMA_OK && status != LZMA_STREAM_END) fail_unpacking("xz", filled);
    filled += kPiece - stream.avail_out;
  }
  unpacked.resize(filled);
  return unpacked;
}

}  // namespace

std::string read_whole_file(const std::filesystem::path& path, std::uint64_t largest) {
  using namespace std::string_view_literals;
  const InputFile file(path);
  std::string content(file.size(), '\0');
  file.read_at(0, std::as_writable_bytes(std::span(content)));
  if (content.starts_with("\x1f\x8b"sv)) return unpack_gzip(content, largest);
  if (content.starts_with("\xfd"
                          "7zXZ\0"sv)) {
    return unpack_xz(content, largest);
  }
  return content;
}

}  // namespace quest::data
