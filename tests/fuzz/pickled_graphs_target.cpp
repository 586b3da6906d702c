#include <string>

#include "data/formats/pickled_graphs.h"
#include "tests/fuzz/target.h"

namespace {

using quest::fuzz::promise;

void check(const quest::data::PickledTensor& tensor) {
  promise(tensor.shape.size() == tensor.strides.size() && tensor.offset >= 0 && tensor.elements() >= 0);
  if (!tensor.content) return;
  const auto bytes = quest::data::format_of(tensor.type).bytes;
  promise(static_cast<std::uint64_t>(tensor.storage_size) * bytes == tensor.content->size());
  std::int64_t last = tensor.offset;
  for (std::size_t i = 0; i < tensor.shape.size() && last >= 0; ++i) {
    last = tensor.shape[i] == 0 ? -1 : last + (tensor.shape[i] - 1) * tensor.strides[i];
  }
  promise(last < tensor.storage_size || tensor.storage_size == 0);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  return quest::fuzz::try_to_read(bytes, size, [](std::string_view content) {
    const std::string names[] = {"x", "edge_attr", "edge_index", "y"};
    const auto graphs = quest::data::parse_pickled_graphs(content, names);
    for (const auto& fields : graphs.graphs) {
      for (const auto& [name, tensor] : fields) check(tensor);
    }
    for (const auto& [name, tensor] : graphs.collated) check(tensor);
    for (const auto& [name, tensor] : graphs.slices) check(tensor);
  });
}
