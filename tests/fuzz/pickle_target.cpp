#include "data/formats/pickled_state.h"
#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    for (const auto& [name, tensor] : quest::data::parse_pickled_state(content)) {
      quest::fuzz::promise(tensor.shape.size() == tensor.strides.size() && tensor.offset >= 0);
      std::int64_t last = tensor.offset;
      for (std::size_t i = 0; i < tensor.shape.size() && last >= 0; ++i) {
        last = tensor.shape[i] == 0 ? -1 : last + (tensor.shape[i] - 1) * tensor.strides[i];
      }
      quest::fuzz::promise(last < tensor.storage_size || tensor.storage_size == 0);
    }
  });
}
