#include "data/weights/weights_file.h"

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "data/formats/format_error.h"
#include "data/formats/input_file.h"
#include "data/weights/pickled_weights.h"

namespace quest::data {
namespace {

// Both formats of torch.save: a zip archive, and before torch 1.6 a bare pickle of at least protocol 2. No safetensors
// file begins so: its header would be longer than 100 MB.
bool is_from_torch_save(const std::filesystem::path& path) {
  const InputFile file(path);
  std::array<char, 4> start{};
  if (file.size() < start.size()) return false;
  file.read_at(0, std::as_writable_bytes(std::span(start)));
  const std::string_view bytes(start.data(), start.size());
  return bytes == "PK\x03\x04" || (bytes[0] == '\x80' && bytes.substr(2, 2) == "\x8a\x0a");
}

}  // namespace

TensorFile load_weights(const std::filesystem::path& path) {
  const bool pickled = naming_file(path, [&path] { return is_from_torch_save(path); });
  return pickled ? load_pth(path) : load_safetensors(path);
}

}  // namespace quest::data
