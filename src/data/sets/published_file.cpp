#include "data/sets/published_file.h"

#include <ATen/TensorOperators.h>
#include <c10/util/Exception.h>

#include <optional>

#include "data/formats/format_error.h"
#include "data/formats/pickled_graphs.h"
#include "data/formats/whole_file.h"
#include "data/weights/torch_archive.h"

namespace quest::data {
namespace {

constexpr std::uint64_t kLongestPickle = std::uint64_t{1} << 33;

// What torch throws is about shapes that nobody expected.
template <typename Read>
void naming_entry(std::int64_t entry, const Read& read) {
  const auto place = "entry " + std::to_string(entry) + ": ";
  try {
    read();
  } catch (const FormatError& error) {
    throw FormatError(place + error.what());
  } catch (const c10::Error& error) {
    throw FormatError(place + error.what_without_backtrace());
  }
}

using TensorOf = std::function<at::Tensor(const PickledTensor&)>;

TensorFields tensors_of(const PickledFields& fields, const TensorOf& tensor_of) {
  TensorFields tensors;
  for (const auto& [name, view] : fields) tensors[name] = tensor_of(view);
  return tensors;
}

// Rows, or columns, of one graph.
struct Part {
  at::Tensor all;
  at::Tensor offsets;  // int64 [G + 1]
  std::int64_t dimension = 0;
};

std::map<std::string, Part, std::less<>> parts_of(const PickledGraphs& graphs, const TensorOf& tensor_of) {
  const auto all = tensors_of(graphs.collated, tensor_of);
  std::map<std::string, Part, std::less<>> parts;
  for (const auto& [name, slices] : tensors_of(graphs.slices, tensor_of)) {
    const auto found = all.find(name);
    if (found == all.end() || slices.dim() != 1 || slices.scalar_type() != at::kLong || slices.size(0) < 1) continue;
    Part part{.all = found->second, .offsets = slices.contiguous()};
    part.dimension = name.find("index") != std::string::npos ? 1 : 0;
    if (part.all.dim() <= part.dimension) continue;
    const auto* at = part.offsets.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i + 1 < part.offsets.size(0); ++i) {
      if (at[i] >= 0 && at[i] <= at[i + 1] && at[i + 1] <= part.all.size(part.dimension)) continue;
      throw FormatError("slices of " + in_quotes(name) + ": expected places from 0 to " +
                        std::to_string(part.all.size(part.dimension)) + " that do not fall, found " +
                        std::to_string(at[i]) + " and " + std::to_string(at[i + 1]));
    }
    parts.emplace(name, std::move(part));
  }
  return parts;
}

}  // namespace

void read_published_file(const std::filesystem::path& path, std::span<const std::string> tuple_fields,
                         const std::function<void(const TensorFields&, bool)>& each) {
  std::optional<TorchArchive> archive;
  std::string content;
  if (is_zip(path)) {
    archive.emplace(path, kLongestPickle);
  } else {
    content = read_whole_file(path);
  }
  const auto graphs = parse_pickled_graphs(archive ? archive->pickle() : content, tuple_fields);
  const auto tensor_of = [&](const PickledTensor& view) {
    return archive ? archive->tensor(view) : tensor_inside(view);
  };
  if (!graphs.is_collated) {
    for (std::size_t i = 0; i < graphs.graphs.size(); ++i) {
      naming_entry(static_cast<std::int64_t>(i), [&] { each(tensors_of(graphs.graphs[i], tensor_of), false); });
    }
    return;
  }
  const auto parts = parts_of(graphs, tensor_of);
  if (parts.empty()) throw FormatError("expected tensors of all graphs and where each graph's begin, found none");
  const auto count = parts.begin()->second.offsets.size(0) - 1;
  for (std::int64_t i = 0; i < count; ++i) {
    TensorFields fields;
    for (const auto& [name, part] : parts) {
      if (part.offsets.size(0) != count + 1) continue;
      const auto* at = part.offsets.const_data_ptr<std::int64_t>();
      fields[name] = part.all.narrow(part.dimension, at[i], at[i + 1] - at[i]);
    }
    naming_entry(i, [&] { each(fields, true); });
  }
}

}  // namespace quest::data
