#include "data/sets/block_model.h"

#include <ATen/ops/from_blob.h>

#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/random.h"
#include "data/graph_packer.h"
#include "data/sets/graph_file.h"
#include "data/sets/made_file.h"

namespace quest::data {
namespace {

constexpr std::uint64_t kGraphs = 0x67726170'68730001;  // first names of random streams, which no other purpose has
constexpr std::uint64_t kPatterns = 0x67726170'68730002;
constexpr std::int64_t kPatternCount = 100;
constexpr std::uint64_t kLeastNodes = 5;
constexpr std::uint64_t kNodesChoices = 30;
constexpr std::uint64_t kPatternIds = 3;
constexpr const char* kFolder = "block-models";

struct Rules {
  std::int64_t communities;
  double inside;
  double between;
};

constexpr Rules kPatternRules = {5, 0.5, 0.35};
constexpr Rules kClusterRules = {6, 0.55, 0.25};
constexpr double kInsidePattern = 0.5;
constexpr double kPatternToGraph = 0.5;

std::size_t number(BlockModel model) { return static_cast<std::size_t>(model); }

// A graph in the making; each edge once, as a pair of nodes.
struct Draft {
  std::vector<std::int16_t> ids;
  std::vector<std::int16_t> labels;
  std::vector<std::pair<std::int16_t, std::int16_t>> edges;

  [[nodiscard]] std::size_t nodes() const { return ids.size(); }
};

std::size_t draw_size(base::Random& random) { return kLeastNodes + random.below(kNodesChoices); }

void join(Draft& draft, std::size_t one, std::size_t other) {
  draft.edges.emplace_back(static_cast<std::int16_t>(one), static_cast<std::int16_t>(other));
}

// Nodes with their community as label, and the edges between them.
Draft draw_communities(const Rules& rules, base::Random& random) {
  Draft draft;
  for (std::int64_t community = 0; community < rules.communities; ++community) {
    draft.labels.insert(draft.labels.end(), draw_size(random), static_cast<std::int16_t>(community));
  }
  draft.ids.resize(draft.labels.size());
  for (std::size_t one = 0; one < draft.nodes(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      const double probability = draft.labels[one] == draft.labels[other] ? rules.inside : rules.between;
      if (random.uniform() < probability) join(draft, one, other);
    }
  }
  return draft;
}

Draft draw_pattern(std::uint64_t seed, std::int64_t pattern) {
  base::Random random(seed, {kPatterns, static_cast<std::uint64_t>(pattern)});
  Draft draft;
  draft.ids.resize(draw_size(random));
  draft.labels.assign(draft.nodes(), 1);
  for (auto& id : draft.ids) id = static_cast<std::int16_t>(random.below(kPatternIds));
  for (std::size_t one = 0; one < draft.nodes(); ++one) {
    for (std::size_t other = 0; other < one; ++other) {
      if (random.uniform() < kInsidePattern) join(draft, one, other);
    }
  }
  return draft;
}

Draft draw_with_pattern(const Draft& pattern, base::Random& random) {
  auto draft = draw_communities(kPatternRules, random);
  const auto before = draft.nodes();
  std::ranges::fill(draft.labels, static_cast<std::int16_t>(0));
  for (auto& id : draft.ids) id = static_cast<std::int16_t>(random.below(kPatternIds));
  draft.ids.insert(draft.ids.end(), pattern.ids.begin(), pattern.ids.end());
  draft.labels.insert(draft.labels.end(), pattern.labels.begin(), pattern.labels.end());
  for (const auto& [one, other] : pattern.edges) join(draft, before + one, before + other);
  for (auto one = before; one < draft.nodes(); ++one) {
    for (std::size_t other = 0; other < before; ++other) {
      if (random.uniform() < kPatternToGraph) join(draft, one, other);
    }
  }
  return draft;
}

Draft draw_clusters(base::Random& random) {
  auto draft = draw_communities(kClusterRules, random);
  for (auto begin = draft.labels.begin(); begin != draft.labels.end();) {
    const auto end = std::upper_bound(begin, draft.labels.end(), *begin);
    const auto chosen = begin + static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(end - begin)));
    draft.ids[static_cast<std::size_t>(chosen - draft.labels.begin())] = static_cast<std::int16_t>(*begin + 1);
    begin = end;
  }
  return draft;
}

at::Tensor tensor_of(std::vector<std::int16_t>& numbers) {
  return at::from_blob(numbers.data(), {static_cast<std::int64_t>(numbers.size())}, at::kShort).clone();
}

// Both directions of each edge, nodes in random order.
Graph shuffled(const Draft& draft, base::Random& random) {
  const auto n = draft.nodes();
  std::vector<std::int16_t> place(n);
  std::iota(place.begin(), place.end(), std::int16_t{0});
  for (std::size_t i = n; i > 1; --i) std::swap(place[i - 1], place[random.below(i)]);
  std::vector<std::int16_t> ids(n);
  std::vector<std::int16_t> labels(n);
  for (std::size_t i = 0; i < n; ++i) {
    ids[static_cast<std::size_t>(place[i])] = draft.ids[i];
    labels[static_cast<std::size_t>(place[i])] = draft.labels[i];
  }
  std::vector<std::int16_t> source;
  std::vector<std::int16_t> target;
  for (const auto& [one, other] : draft.edges) {
    for (const auto& [from, to] : {std::pair(one, other), std::pair(other, one)}) {
      source.push_back(place[static_cast<std::size_t>(from)]);
      target.push_back(place[static_cast<std::size_t>(to)]);
    }
  }
  return {.nodes = static_cast<std::int64_t>(n),
          .source = tensor_of(source),
          .target = tensor_of(target),
          .node_ids = tensor_of(ids),
          .labels = tensor_of(labels)};
}

std::vector<Draft> patterns_of(BlockModel model, std::uint64_t seed) {
  std::vector<Draft> patterns;
  if (model != BlockModel::pattern) return patterns;
  for (std::int64_t i = 0; i < kPatternCount; ++i) patterns.push_back(draw_pattern(seed, i));
  return patterns;
}

GraphSchema schema_of(BlockModel model) {
  const bool is_pattern = model == BlockModel::pattern;
  return {.name = std::string(kBlockModels[number(model)]),
          .task = GraphTask::node_classes,
          .node_categories = {is_pattern ? static_cast<std::int64_t>(kPatternIds) : kClusterRules.communities + 1},
          .outputs = is_pattern ? 2 : kClusterRules.communities};
}

}  // namespace

BlockModelSize published_size(BlockModel model) {
  if (model == BlockModel::pattern) return {.train = 10000, .validation = 2000, .test = 2000};
  return {.train = 10000, .validation = 1000, .test = 1000};
}

GraphSet generate_block_model(BlockModel model, const BlockModelSize& size, std::uint64_t seed,
                              const Progress& progress) {
  const auto patterns = patterns_of(model, seed);
  const auto draw = [&](std::uint64_t split, std::int64_t i) {
    base::Random random(seed, {kGraphs, number(model), split, static_cast<std::uint64_t>(i)});
    const auto draft = model == BlockModel::cluster
                           ? draw_clusters(random)
                           : draw_with_pattern(patterns[static_cast<std::size_t>(i % kPatternCount)], random);
    return shuffled(draft, random);
  };
  const std::array<std::pair<const char*, std::int64_t>, 3> splits = {
      {{"train", size.train}, {"validation", size.validation}, {"test", size.test}}};
  const auto all = static_cast<double>(size.train + size.validation + size.test);
  GraphPacker packer(schema_of(model));
  double before = 0.0;
  for (std::size_t split = 0; split < splits.size(); ++split) {
    const auto& [name, count] = splits[split];
    if (count < 0)
      throw std::invalid_argument(std::string("expected graphs to ") + name + ", got " + std::to_string(count));
    std::vector<Graph> graphs(static_cast<std::size_t>(count));
    const auto share = static_cast<double>(count) / all;
    for_each_graph(
        count,
        [&](double done) {
          if (progress) progress(before + share * done);
        },
        [&](std::int64_t i) { graphs[static_cast<std::size_t>(i)] = draw(split, i); });
    before += share;
    packer.begin_split(name);
    for (const auto& graph : graphs) packer.add(graph);
  }
  return packer.finish();
}

GraphSet load_block_model(BlockModel model, const BlockModelSize& size, std::uint64_t seed, const Progress& progress) {
  const std::string name(kBlockModels[number(model)]);
  const auto key = name + " 1, seed " + std::to_string(seed) + ", graphs " + std::to_string(size.train) + " " +
                   std::to_string(size.validation) + " " + std::to_string(size.test);
  const auto path = made_file(kFolder, name, key);
  if (auto set = find_graph_set(path, key)) return std::move(*set);
  auto set = generate_block_model(model, size, seed, progress);
  save_graph_set(path, set, key);
  return set;
}

}  // namespace quest::data
