#pragma once

// One file of graphs as Python publishes them, graph by graph.

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

namespace quest::data {

using TensorFields = std::map<std::string, at::Tensor, std::less<>>;

// each(fields, is_collated) for every graph. Whatever "index" is part of the name of is joined along its second
// dimension in PyTorch Geometric's collated files, all else along the first. Throws FormatError without the file's
// name.
void read_published_file(const std::filesystem::path& path, std::span<const std::string> tuple_fields,
                         const std::function<void(const TensorFields&, bool is_collated)>& each);

}  // namespace quest::data
