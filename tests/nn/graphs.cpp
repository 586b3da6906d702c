#include "tests/nn/graphs.h"

#include <torch/torch.h>

#include <algorithm>
#include <optional>

namespace quest::testing {

nn::GraphEdges edges_of(const at::Tensor& source, const at::Tensor& target, std::int64_t nodes) {
  const at::Tensor order = std::get<1>(target.sort(/*stable=*/std::optional<bool>(true), /*dim=*/0));
  return nn::sorted_edges(source.index_select(0, order), target.index_select(0, order), nodes);
}

nn::GraphEdges random_edges(std::int64_t nodes, std::int64_t edges) {
  const auto ends = [&] { return at::randint(std::max<std::int64_t>(nodes, 1), {edges}, at::kLong); };
  const at::Tensor source = ends();
  return edges_of(source, ends(), nodes);
}

}  // namespace quest::testing
