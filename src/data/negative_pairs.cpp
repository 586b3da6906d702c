#include "data/negative_pairs.h"

#include <ATen/ops/from_blob.h>

#include <set>
#include <utility>
#include <vector>

namespace quest::data {
namespace {

constexpr int kRepeats = 10;

using Pair = std::pair<std::int64_t, std::int64_t>;

struct Pairs {
  std::vector<std::int64_t> source;
  std::vector<std::int64_t> target;
  std::vector<std::int64_t> label;

  void add(const Pair& pair, std::int64_t own_label) {
    source.push_back(pair.first);
    target.push_back(pair.second);
    label.push_back(own_label);
  }
};

void add_graph(const std::vector<Pair>& positives, std::int64_t first_node, std::int64_t nodes, std::int64_t each,
               base::Random random, Pairs& result) {
  std::set<Pair> taken(positives.begin(), positives.end());
  for (const auto& pair : positives) result.add(pair, 1);
  for (const auto& pair : positives) {
    for (std::int64_t i = 0; i < each; ++i) {
      for (int attempt = 0; attempt <= kRepeats; ++attempt) {
        const auto tail = first_node + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(nodes)));
        if (!taken.emplace(pair.first, tail).second) continue;
        result.add({pair.first, tail}, 0);
        break;
      }
    }
  }
}

at::Tensor tensor_of(std::vector<std::int64_t>& numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kLong).clone();
}

}  // namespace

PairTensors with_negative_pairs(const PairTensors& pairs, const at::Tensor& nodes, const NegativePairs& negatives) {
  const auto* node = nodes.const_data_ptr<std::int32_t>();
  const auto* offset = pairs.offsets.const_data_ptr<std::int64_t>();
  const auto* source = pairs.source.const_data_ptr<std::int64_t>();
  const auto* target = pairs.target.const_data_ptr<std::int64_t>();
  const auto* label = pairs.label.const_data_ptr<std::int64_t>();
  Pairs result;
  std::vector<std::int64_t> offsets = {0};
  for (std::size_t graph = 0; graph + 1 < static_cast<std::size_t>(nodes.numel()); ++graph) {
    std::vector<Pair> positives;
    for (auto i = offset[graph]; i < offset[graph + 1]; ++i) {
      if (label[i] == 1) positives.emplace_back(source[i], target[i]);
    }
    add_graph(positives, node[graph], node[graph + 1] - node[graph], negatives.each, negatives.random(graph), result);
    offsets.push_back(static_cast<std::int64_t>(result.source.size()));
  }
  return {.offsets = tensor_of(offsets),
          .source = tensor_of(result.source),
          .target = tensor_of(result.target),
          .label = tensor_of(result.label)};
}

}  // namespace quest::data
