#include "data/graph_packer.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <type_traits>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

template <typename Number>
constexpr at::ScalarType kScalar = at::kInt;
template <>
constexpr at::ScalarType kScalar<float> = at::kFloat;
template <>
constexpr at::ScalarType kScalar<std::int64_t> = at::kLong;

template <typename Number>
at::Tensor tensor_of(std::vector<Number>& numbers, at::IntArrayRef shape, at::ScalarType type = kScalar<Number>) {
  return at::from_blob(numbers.data(), shape, kScalar<Number>).to(type, /*non_blocking=*/false, /*copy=*/true);
}

template <typename Number>
at::Tensor tensor_of(std::vector<Number>& numbers, at::ScalarType type = kScalar<Number>) {
  return tensor_of(numbers, {static_cast<std::int64_t>(numbers.size())}, type);
}

// The smallest type that holds numbers which are not negative.
at::ScalarType type_for(const std::vector<std::int32_t>& numbers, at::ScalarType between) {
  if (numbers.empty()) return at::kByte;
  const auto [least, most] = std::ranges::minmax(numbers);
  if (least < 0) return at::kInt;
  if (most <= std::numeric_limits<std::uint8_t>::max()) return at::kByte;
  return most <= std::numeric_limits<std::int16_t>::max() ? between : at::kInt;
}

// Whole numbers of any type as int32; those that do not fit become what no graph has.
at::Tensor whole_numbers(const at::Tensor& tensor) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  const auto kept = tensor.scalar_type() == at::kLong ? tensor.clamp(-kMost, kMost) : tensor;
  return kept.to(at::kInt).contiguous();
}

std::string from_zero_to(std::int64_t count) { return "0 to " + std::to_string(count - 1); }

}  // namespace

void GraphPacker::fail(const std::string& reason) const {
  throw FormatError("graph " + std::to_string(offsets_.size() - 1) + ": " + reason);
}

void GraphPacker::begin_split(std::string name) {
  const auto graphs = static_cast<std::int64_t>(offsets_.size()) - 1;
  splits_.emplace_back(std::move(name), GraphRange{graphs, graphs});
}

std::vector<std::int64_t> GraphPacker::add_edges(const Graph& graph) {
  if (graph.source.dim() != 1 || graph.source.sizes() != graph.target.sizes()) {
    fail("expected a source and a target of each edge, found " + std::to_string(graph.source.numel()) + " and " +
         std::to_string(graph.target.numel()));
  }
  const auto source = whole_numbers(graph.source);
  const auto target = whole_numbers(graph.target);
  const auto* from = source.const_data_ptr<std::int32_t>();
  const auto* to = target.const_data_ptr<std::int32_t>();
  const auto edges = static_cast<std::size_t>(source.numel());
  std::vector<std::int64_t> begin(static_cast<std::size_t>(graph.nodes) + 1, 0);
  for (std::size_t i = 0; i < edges; ++i) {
    if (from[i] < 0 || from[i] >= graph.nodes || to[i] < 0 || to[i] >= graph.nodes) {
      fail("edge " + std::to_string(i) + " leads from node " + std::to_string(from[i]) + " to node " +
           std::to_string(to[i]) + "; expected nodes " + from_zero_to(graph.nodes));
    }
    ++begin[static_cast<std::size_t>(to[i]) + 1];
  }
  std::partial_sum(begin.begin(), begin.end(), begin.begin());
  const auto before = static_cast<std::int64_t>(source_.size());
  for (std::size_t node = 1; node < begin.size(); ++node) in_edges_.push_back(before + begin[node]);
  std::vector<std::int64_t> order(edges);
  for (std::size_t i = 0; i < edges; ++i) {
    order[static_cast<std::size_t>(begin[static_cast<std::size_t>(to[i])]++)] = static_cast<std::int64_t>(i);
  }
  for (const auto edge : order) source_.push_back(from[edge]);
  return order;
}

template <typename Number>
void GraphPacker::add_rows(Table<Number>& table, const at::Tensor& rows, std::int64_t expected, const char* name,
                           const std::vector<std::int64_t>& limits, const std::vector<std::int64_t>* order) {
  const auto columns = !rows.defined() ? 0 : rows.dim() < 2 ? 1 : rows.size(1);
  if (table.columns < 0) table.columns = limits.empty() ? columns : std::ssize(limits);
  if (columns != table.columns) {
    fail("expected " + std::to_string(table.columns) + " columns of " + in_quotes(name) + ", found " +
         std::to_string(columns));
  }
  if (columns == 0) return;
  const auto found = rows.dim() == 0 ? 1 : rows.size(0);
  if (found != expected || rows.dim() > 2) {
    fail("expected " + std::to_string(expected) + " rows of " + in_quotes(name) + ", found " + std::to_string(found));
  }
  const auto numbers = std::is_same_v<Number, float> ? rows.to(at::kFloat).contiguous() : whole_numbers(rows);
  const auto* begin = numbers.template const_data_ptr<Number>();
  for (std::int64_t i = 0; i < numbers.numel(); ++i) check_number(begin[i], i / columns, i % columns, name, limits);
  if (order == nullptr) {
    table.numbers.insert(table.numbers.end(), begin, begin + numbers.numel());
    return;
  }
  for (const auto row : *order) {
    table.numbers.insert(table.numbers.end(), begin + row * columns, begin + (row + 1) * columns);
  }
}

void GraphPacker::check_number(float number, std::int64_t row, std::int64_t /*column*/, const char* name,
                               const std::vector<std::int64_t>& /*limits*/) const {
  if (std::isfinite(number)) return;
  fail("row " + std::to_string(row) + " of " + in_quotes(name) + " holds NaN or infinity; expected numbers");
}

void GraphPacker::check_number(std::int32_t number, std::int64_t row, std::int64_t column, const char* name,
                               const std::vector<std::int64_t>& limits) const {
  if (limits.empty()) return;
  const auto limit = limits[static_cast<std::size_t>(column)];
  if (number >= 0 && number < limit) return;
  fail("row " + std::to_string(row) + " has " + std::to_string(number) + " in " + in_quotes(name) + "; expected " +
       from_zero_to(limit));
}

void GraphPacker::add_pairs(const Graph& graph) {
  const auto pairs = graph.pair_source.defined() ? graph.pair_source.numel() : 0;
  add_rows(pair_source_, graph.pair_source, pairs, "pair_source", {graph.nodes});
  add_rows(pair_target_, graph.pair_target, pairs, "pair_target", {graph.nodes});
  add_rows(pair_label_, graph.pair_label, pairs, "pair_label", {2});
  pair_offsets_.push_back(pair_offsets_.back() + pairs);
}

void GraphPacker::add(const Graph& graph) {
  if (graph.nodes < 0) fail("expected a number of nodes, found " + std::to_string(graph.nodes));
  const auto order = add_edges(graph);
  const auto edges = static_cast<std::int64_t>(order.size());
  add_rows(node_ids_, graph.node_ids, graph.nodes, "node_ids", schema_.node_categories);
  add_rows(node_values_, graph.node_values, graph.nodes, "node_values");
  add_rows(edge_ids_, graph.edge_ids, edges, "edge_ids", schema_.edge_categories, &order);
  add_rows(edge_values_, graph.edge_values, edges, "edge_values", {}, &order);
  if (schema_.task == GraphTask::node_classes)
    add_rows(classes_, graph.labels, graph.nodes, "labels", {schema_.outputs});
  if (schema_.task == GraphTask::graph_classes) add_rows(classes_, graph.labels, 1, "labels", {schema_.outputs});
  if (schema_.task == GraphTask::graph_targets) {
    add_rows(targets_, graph.labels.defined() ? graph.labels.reshape({1, -1}) : graph.labels, 1, "labels");
  }
  if (schema_.task == GraphTask::pairs) add_pairs(graph);
  offsets_.push_back(offsets_.back() + graph.nodes);
  if (!splits_.empty()) ++splits_.back().second.last;
}

GraphSet GraphPacker::finish() {
  if (offsets_.size() == 1) throw FormatError("expected graphs, found none");
  GraphTensors tensors{.offsets = tensor_of(offsets_),
                       .in_edges = tensor_of(in_edges_),
                       .source = tensor_of(source_, type_for(source_, at::kShort))};
  const auto rows = [](auto& table, at::ScalarType type) {
    if (table.columns <= 0) return at::Tensor();
    const auto count = static_cast<std::int64_t>(table.numbers.size()) / table.columns;
    return tensor_of(table.numbers, {count, table.columns}, type);
  };
  const auto ids = [&](Table<std::int32_t>& table) { return rows(table, type_for(table.numbers, at::kInt)); };
  tensors.node_ids = ids(node_ids_);
  tensors.node_values = rows(node_values_, at::kFloat);
  tensors.edge_ids = ids(edge_ids_);
  tensors.edge_values = rows(edge_values_, at::kFloat);
  tensors.labels = schema_.task == GraphTask::graph_targets ? rows(targets_, at::kFloat) : ids(classes_);
  if (schema_.task != GraphTask::graph_targets && tensors.labels.defined()) tensors.labels = tensors.labels.flatten();
  if (schema_.task == GraphTask::pairs) {
    tensors.pair_offsets = tensor_of(pair_offsets_);
    tensors.pair_source = tensor_of(pair_source_.numbers);
    tensors.pair_target = tensor_of(pair_target_.numbers);
    tensors.pair_label = tensor_of(pair_label_.numbers, at::kByte);
  }
  return {std::move(schema_), std::move(splits_), std::move(tensors)};
}

}  // namespace quest::data
