#include "data/graph_check.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/isfinite.h>

#include <algorithm>
#include <initializer_list>
#include <sstream>
#include <string>

#include "data/formats/format_error.h"

namespace quest::data {
namespace {

std::string number(std::int64_t value) { return std::to_string(value); }

class Check {
 public:
  Check(const GraphSchema& schema, const GraphTensors& tensors) : schema_(schema), tensors_(tensors) {}

  void all() {
    shape("offsets", tensors_.offsets, {at::kLong}, {-1});
    shape("in_edges", tensors_.in_edges, {at::kLong}, {-1});
    shape("source", tensors_.source, {at::kByte, at::kShort, at::kInt}, {-1});
    graphs_ = rising("offsets", tensors_.offsets, tensors_.in_edges.size(0) - 1);
    nodes_ = rising("in_edges", tensors_.in_edges, tensors_.source.size(0));
    nodes_inside(tensors_.source, edge_offsets(), "edge", "leads from");
    ids("node_ids", tensors_.node_ids, nodes_, schema_.node_categories, tensors_.offsets);
    ids("edge_ids", tensors_.edge_ids, edges(), schema_.edge_categories, edge_offsets());
    values("node_values", tensors_.node_values, nodes_, tensors_.offsets);
    values("edge_values", tensors_.edge_values, edges(), edge_offsets());
    labels();
    encodings();
  }

 private:
  [[nodiscard]] std::int64_t edges() const { return tensors_.source.size(0); }
  [[nodiscard]] at::Tensor edge_offsets() const { return tensors_.in_edges.index_select(0, tensors_.offsets); }

  static void shape(const char* name, const at::Tensor& tensor, std::initializer_list<at::ScalarType> types,
                    const std::vector<std::int64_t>& sizes) {
    if (!tensor.defined()) throw FormatError("expected the tensor \"" + std::string(name) + "\", found none");
    bool fits = tensor.dim() == static_cast<std::int64_t>(sizes.size()) &&
                std::ranges::find(types, tensor.scalar_type()) != types.end() && tensor.is_contiguous();
    for (std::size_t i = 0; fits && i < sizes.size(); ++i) {
      fits = sizes[i] < 0 || tensor.size(static_cast<std::int64_t>(i)) == sizes[i];
    }
    if (fits) return;
    std::ostringstream text;
    text << "tensor \"" << name << "\": expected ";
    for (const auto type : types) text << (type == *types.begin() ? "" : " or ") << type;
    text << " [";
    for (std::size_t i = 0; i < sizes.size(); ++i)
      text << (i == 0 ? "" : ", ") << (sizes[i] < 0 ? "any" : number(sizes[i]));
    text << "], found " << tensor.scalar_type() << " " << tensor.sizes();
    throw FormatError(text.str());
  }

  // From 0 to `last` without a step down; gives how many there are between.
  static std::int64_t rising(const char* name, const at::Tensor& offsets, std::int64_t last) {
    const auto count = offsets.size(0) - 1;
    const auto* at = offsets.const_data_ptr<std::int64_t>();
    if (count < 0 || at[0] != 0 || at[count] != last) {
      throw FormatError("tensor \"" + std::string(name) + "\": expected offsets from 0 to " + number(last) +
                        ", found " + (count < 0 ? "none" : number(at[0]) + " to " + number(at[count])));
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (at[i] <= at[i + 1]) continue;
      throw FormatError("tensor \"" + std::string(name) + "\": expected offsets that do not fall, found " +
                        number(at[i]) + " and then " + number(at[i + 1]) + " at place " + number(i));
    }
    return count;
  }

  // The graph that owns a row, for messages.
  static std::string place_of(std::int64_t row, const at::Tensor& offsets, const char* what) {
    const auto* begin = offsets.const_data_ptr<std::int64_t>();
    const auto* own = std::upper_bound(begin, begin + offsets.numel(), row) - 1;
    return "graph " + number(own - begin) + ": " + what + " " + number(row - *own);
  }

  static std::int64_t first_of(const at::Tensor& wrong) { return wrong.nonzero()[0][0].item<std::int64_t>(); }

  // Nodes numbered inside their graph.
  void nodes_inside(const at::Tensor& nodes, const at::Tensor& offsets, const char* what, const char* verb) const {
    const auto sizes = tensors_.offsets.diff().to(at::kInt).repeat_interleave(offsets.diff());
    const auto wrong = nodes.lt(0) | nodes.ge(sizes);
    if (!wrong.any().item<bool>()) return;
    const auto row = first_of(wrong);
    throw FormatError(place_of(row, offsets, what) + " " + verb + " node " + number(nodes[row].item<std::int64_t>()) +
                      "; expected nodes 0 to " + number(sizes[row].item<std::int64_t>() - 1));
  }

  static void below(const char* name, const at::Tensor& column, std::int64_t count, const at::Tensor& offsets,
                    const char* what) {
    const auto numbers = column.to(at::kInt);  // a byte cannot be compared with 300
    const auto wrong = numbers.lt(0) | numbers.ge(count);
    if (!wrong.any().item<bool>()) return;
    const auto row = first_of(wrong);
    throw FormatError(place_of(row, offsets, what) + " has " + number(column[row].item<std::int64_t>()) + " in \"" +
                      name + "\"; expected 0 to " + number(count - 1));
  }

  static void ids(const char* name, const at::Tensor& rows, std::int64_t count,
                  const std::vector<std::int64_t>& categories, const at::Tensor& offsets) {
    if (!rows.defined() && categories.empty()) return;
    const auto columns = static_cast<std::int64_t>(categories.size());
    shape(name, rows, {at::kByte, at::kInt}, {count, columns});
    for (std::int64_t i = 0; i < columns; ++i) {
      below(name, rows.select(1, i), categories[static_cast<std::size_t>(i)], offsets, "row");
    }
  }

  static void values(const char* name, const at::Tensor& rows, std::int64_t count, const at::Tensor& offsets) {
    if (!rows.defined()) return;
    shape(name, rows, {at::kFloat}, {count, -1});
    const auto wrong = at::isfinite(rows).logical_not().any(1);
    if (!wrong.any().item<bool>()) return;
    throw FormatError(place_of(first_of(wrong), offsets, "row") + " of \"" + name +
                      "\" holds NaN or infinity; expected numbers");
  }

  void labels() const {
    switch (schema_.task) {
      case GraphTask::node_classes:
        shape("labels", tensors_.labels, {at::kByte, at::kInt}, {nodes_});
        return below("labels", tensors_.labels, schema_.outputs, tensors_.offsets, "row");
      case GraphTask::graph_classes:
        shape("labels", tensors_.labels, {at::kByte, at::kInt}, {graphs_});
        return below("labels", tensors_.labels, schema_.outputs, one_each(), "row");
      case GraphTask::graph_targets:
        shape("labels", tensors_.labels, {at::kFloat}, {graphs_, schema_.outputs});
        return values("labels", tensors_.labels, graphs_, one_each());
      case GraphTask::pairs:
        shape("pair_offsets", tensors_.pair_offsets, {at::kLong}, {graphs_ + 1});
        rising("pair_offsets", tensors_.pair_offsets,
               tensors_.pair_source.defined() ? tensors_.pair_source.size(0) : 0);
        shape("pair_source", tensors_.pair_source, {at::kInt}, {-1});
        shape("pair_target", tensors_.pair_target, {at::kInt}, {tensors_.pair_source.size(0)});
        shape("pair_label", tensors_.pair_label, {at::kByte}, {tensors_.pair_source.size(0)});
        nodes_inside(tensors_.pair_source, tensors_.pair_offsets, "pair", "has");
        nodes_inside(tensors_.pair_target, tensors_.pair_offsets, "pair", "has");
        return below("pair_label", tensors_.pair_label, 2, tensors_.pair_offsets, "row");
    }
  }

  // NaN stands for what small graphs have not.
  void encodings() const {
    if (tensors_.lap_vectors.defined() || tensors_.lap_values.defined()) {
      shape("lap_vectors", tensors_.lap_vectors, {at::kFloat}, {nodes_, -1});
      shape("lap_values", tensors_.lap_values, {at::kFloat}, {graphs_, tensors_.lap_vectors.size(1)});
    }
    if (tensors_.rwse.defined()) values("rwse", tensors_.rwse, nodes_, tensors_.offsets);
  }

  [[nodiscard]] at::Tensor one_each() const { return at::arange(graphs_ + 1, at::kLong); }

  const GraphSchema& schema_;
  const GraphTensors& tensors_;
  std::int64_t graphs_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace

void check_graph_tensors(const GraphSchema& schema, const GraphTensors& tensors) { Check(schema, tensors).all(); }

void check_splits(const GraphSet::Splits& splits, std::int64_t graphs) {
  for (const auto& [name, range] : splits) {
    if (range.first >= 0 && range.first <= range.last && range.last <= graphs) continue;
    throw FormatError("split " + in_quotes(name) + ": expected some of the graphs 0 to " + number(graphs - 1) +
                      ", found " + number(range.first) + " to " + number(range.last - 1));
  }
}

}  // namespace quest::data
