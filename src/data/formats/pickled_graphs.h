#pragma once

// Graphs as Python programs publish them in pickles: a list of tuples or of dicts of tensors, or PyTorch Geometric's
// collated form: the tensors of all graphs one after the other, and where each graph's begin. Needs no torch.

#include <deque>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/formats/pickled_tensor.h"

namespace quest::data {

using PickledFields = std::vector<std::pair<std::string, PickledTensor>>;

struct PickledGraphs {
  std::vector<PickledFields> graphs;  // of a list
  bool is_collated = false;
  PickledFields collated;  // of all graphs
  PickledFields slices;    // of each of these: int64 [G + 1]

  // What the tensors' contents lie in besides the bytes that were parsed.
  Pickle pickle;
  std::deque<std::string> numbers;
};

// `tuple_fields` names the parts of a tuple. Values that are no tensors, arrays or numbers are left out. The bytes have
// to outlive the result. Throws FormatError.
[[nodiscard]] PickledGraphs parse_pickled_graphs(std::string_view bytes, std::span<const std::string> tuple_fields);

}  // namespace quest::data
