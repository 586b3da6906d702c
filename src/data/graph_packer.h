#pragma once

// Graphs one by one become a set.

#include <cstdint>
#include <string>
#include <vector>

#include "data/graph_set.h"

namespace quest::data {

class GraphPacker {
 public:
  explicit GraphPacker(GraphSchema schema) : schema_(std::move(schema)) {}

  // The graphs added from here on, up to the next call, are those of the split.
  void begin_split(std::string name);
  // All graphs have the same features. Throws FormatError that names the graph and what is wrong with it: an edge that
  // leads out of it, a category or label that is none, NaN, or other rows and columns than its nodes, its edges and the
  // graphs before ask for.
  void add(const Graph& graph);

  // Throws what the constructor of GraphSet throws.
  [[nodiscard]] GraphSet finish();

 private:
  // Rows of all graphs one below the other.
  template <typename Number>
  struct Table {
    std::int64_t columns = -1;  // before the first graph
    std::vector<Number> numbers = {};
  };

  // Gives the edges in the order of the set: by target.
  std::vector<std::int64_t> add_edges(const Graph& graph);
  void add_pairs(const Graph& graph);
  // Whole numbers are below the limit of their column, where there are limits.
  template <typename Number>
  void add_rows(Table<Number>& table, const at::Tensor& rows, std::int64_t expected, const char* name,
                const std::vector<std::int64_t>& limits = {}, const std::vector<std::int64_t>* order = nullptr);
  void check_number(float number, std::int64_t row, std::int64_t column, const char* name,
                    const std::vector<std::int64_t>& limits) const;
  void check_number(std::int32_t number, std::int64_t row, std::int64_t column, const char* name,
                    const std::vector<std::int64_t>& limits) const;
  [[noreturn]] void fail(const std::string& reason) const;

  GraphSchema schema_;
  GraphSet::Splits splits_;
  std::vector<std::int64_t> offsets_ = {0};
  std::vector<std::int64_t> in_edges_ = {0};
  std::vector<std::int64_t> pair_offsets_ = {0};
  std::vector<std::int32_t> source_;
  Table<std::int32_t> node_ids_;
  Table<float> node_values_;
  Table<std::int32_t> edge_ids_;
  Table<float> edge_values_;
  Table<std::int32_t> classes_;
  Table<float> targets_;
  Table<std::int32_t> pair_source_;
  Table<std::int32_t> pair_target_;
  Table<std::int32_t> pair_label_;
};

}  // namespace quest::data
