#include "data/formats/safetensors_index.h"
#include "tests/fuzz/target.h"

namespace {

using quest::fuzz::promise;

// What was read is written and read again, and is the same.
void check_round_trip(const quest::data::SafetensorsIndex& index, std::uint64_t data_size) {
  const std::string start = quest::data::safetensors_start(index);
  promise(quest::data::safetensors_header_length(std::as_bytes(std::span(start)), start.size() + data_size) + 8 ==
          start.size());
  const auto again = quest::data::parse_safetensors_header(std::string_view(start).substr(8), data_size);
  promise(again.metadata == index.metadata && again.entries.size() == index.entries.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    const auto length = quest::data::safetensors_header_length(std::as_bytes(std::span(content)), content.size());
    const std::uint64_t data_size = content.size() - 8 - length;
    const auto index = quest::data::parse_safetensors_header(content.substr(8, length), data_size);
    std::uint64_t position = 0;
    for (const auto& entry : index.entries) {
      promise(entry.begin == position && entry.end >= entry.begin);
      position = entry.end;
    }
    promise(position == data_size);
    check_round_trip(index, data_size);
  });
}
