#include "train/run/figure_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/atomic_file.h"

namespace quest::train {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& what, const Json& given) {
  throw std::logic_error("a figure needs " + what + ", got " + given.dump().substr(0, 200));
}

bool is_file_name(const std::string& id) {
  return !id.empty() && id.front() != '.' && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' ||
           c == '.';
  });
}

const Json& list(const Json& holder, const char* key) {
  const auto found = holder.find(key);
  if (found == holder.end() || !found->is_array()) refuse("a list \"" + std::string(key) + "\"", holder);
  return *found;
}

void check_series(const Json& panel, bool is_bars) {
  const auto& series = list(panel, "series");
  if (is_bars && (series.size() != 1 || !series[0].contains("x"))) refuse("one series with \"x\" for its bars", panel);
  for (const auto& one : series) {
    const auto points = list(one, "y").size();
    if (one.contains("x") && list(one, "x").size() != points) refuse("as many \"x\" as \"y\"", one);
  }
}

void check_cells(const Json& panel) {
  const auto& cells = list(panel, "cells");
  if (cells.size() != list(panel, "rows").size()) refuse("a list of \"cells\" for each of its \"rows\"", panel);
  for (const auto& row : cells) {
    if (row.size() != list(panel, "columns").size()) refuse("a cell for each of its \"columns\"", row);
  }
}

void check_edges(const Json& panel) {
  const auto nodes = list(panel, "nodes").size();
  for (const auto& edge : list(panel, "edges")) {
    const bool is_pair = edge.is_array() && edge.size() == 2;
    if (!is_pair || edge[0] >= nodes || edge[1] >= nodes) refuse("edges that are two places in \"nodes\"", edge);
  }
}

void check(const Json& figure) {
  if (!is_file_name(figure.value("id", ""))) refuse("an \"id\" of letters, digits, \"-\", \"_\" and \".\"", figure);
  for (const auto& panel : list(figure, "panels")) {
    const auto kind = panel.value("kind", "");
    if (kind == "line" || kind == "bars") {
      check_series(panel, kind == "bars");
    } else if (kind == "heat") {
      check_cells(panel);
    } else if (kind == "graph") {
      check_edges(panel);
    } else {
      refuse(R"(panels of the kind "line", "bars", "heat" or "graph")", panel);
    }
  }
}

}  // namespace

void write_figure(const std::filesystem::path& run, const Json& figure) {
  check(figure);
  const auto folder = run / kFigureFolder;
  std::filesystem::create_directories(folder);
  base::write_atomically(folder / (figure["id"].get<std::string>() + ".json"), figure.dump(2) + "\n");
}

}  // namespace quest::train
