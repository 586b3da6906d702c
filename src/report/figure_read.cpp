#include "report/figure_read.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string_view>

#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/json_folder.h"
#include "train/run/figure_file.h"

namespace quest::report {
namespace {

using Json = nlohmann::ordered_json;
using Values = std::vector<std::optional<double>>;

constexpr std::size_t kMostCells = 4096;  // of a panel: more would make the page heavy

[[noreturn]] void refuse(const std::string& why) { throw std::invalid_argument(why); }

const Json& member(const Json& object, const char* key, const std::string& place) {
  if (!object.is_object() || !object.contains(key)) refuse(place + " was expected to have \"" + key + "\"");
  return object.at(key);
}

const Json& list(const Json& object, const char* key, const std::string& place) {
  const Json& value = member(object, key, place);
  if (!value.is_array() || value.empty()) refuse(place + ": \"" + key + "\" was expected to be a list with entries");
  if (value.size() > kMostCells) {
    refuse(place + ": \"" + key + "\" has " + std::to_string(value.size()) + " entries, and a page has room for " +
           std::to_string(kMostCells) + "; write fewer");
  }
  return value;
}

std::string text(const Json& object, const char* key, const std::string& place) {
  if (!object.contains(key)) return "";
  if (!object.at(key).is_string()) refuse(place + ": \"" + key + "\" was expected to be a text");
  return object.at(key).get<std::string>();
}

// Names may be numbers.
std::vector<std::string> names(const Json& array, const std::string& place) {
  std::vector<std::string> result;
  for (const Json& name : array) {
    if (!name.is_string() && !name.is_number()) refuse(place + " was expected to hold texts or numbers");
    result.push_back(name.is_string() ? name.get<std::string>() : compact(name.get<double>()));
  }
  return result;
}

Values values(const Json& array, const std::string& place) {
  if (!array.is_array()) refuse(place + " was expected to be a list");
  Values result;
  for (const Json& value : array) {
    if (!value.is_number() && !value.is_null()) refuse(place + " was expected to hold numbers or null");
    result.push_back(value.is_null() ? std::nullopt : std::optional(value.get<double>()));
  }
  return result;
}

void check_lengths(std::size_t given, std::size_t expected, const std::string& place) {
  if (given != expected) {
    refuse(place + " was expected to have " + std::to_string(expected) + " entries, got " + std::to_string(given));
  }
}

std::vector<double> places_of(const Json& series, std::size_t count, const std::string& place) {
  std::vector<double> x;
  if (!series.contains("x")) {
    for (std::size_t i = 1; i <= count; ++i) x.push_back(static_cast<double>(i));
    return x;
  }
  for (const auto& value : values(list(series, "x", place), place + ": \"x\"")) {
    if (!value || (!x.empty() && *value <= x.back()))
      refuse(place + ": \"x\" was expected to grow from entry to entry");
    x.push_back(*value);
  }
  return x;
}

FileLines lines_of(const Json& panel, const std::string& place) {
  FileLines lines;
  std::set<std::string> known;
  for (const Json& series : list(panel, "series", place)) {
    const std::string where = place + ", series " + std::to_string(lines.series.size() + 1);
    FileSeries line{.name = text(series, "name", where)};
    line.y = values(list(series, "y", where), where + ": \"y\"");
    line.x = places_of(series, line.y.size(), where);
    check_lengths(line.x.size(), line.y.size(), where + ": \"x\"");
    if (!known.insert(line.name).second) refuse(place + " has two series named \"" + line.name + "\"");
    lines.series.push_back(std::move(line));
  }
  return lines;
}

FileBars bars_of(const Json& panel, const std::string& place) {
  const Json& series = list(panel, "series", place);
  check_lengths(series.size(), 1, place + ": \"series\"");
  FileBars bars{.name = text(series[0], "name", place),
                .names = names(list(series[0], "x", place), place + ": \"x\""),
                .values = values(list(series[0], "y", place), place + ": \"y\"")};
  check_lengths(bars.values.size(), bars.names.size(), place + ": \"y\"");
  if (std::set(bars.names.begin(), bars.names.end()).size() < bars.names.size()) {
    refuse(place + ": \"x\" was expected to name every bar differently");
  }
  return bars;
}

FileHeat heat_of(const Json& panel, const std::string& place) {
  FileHeat heat{.rows = names(list(panel, "rows", place), place + ": \"rows\""),
                .columns = names(list(panel, "columns", place), place + ": \"columns\"")};
  if (heat.rows.size() * heat.columns.size() > kMostCells) {
    refuse(place + " has " + std::to_string(heat.rows.size() * heat.columns.size()) +
           " cells, and a page has room for " + std::to_string(kMostCells) + "; write fewer");
  }
  for (const Json& row : list(panel, "cells", place)) {
    const std::string where = place + ", row " + std::to_string(heat.cells.size() + 1);
    heat.cells.push_back(values(row, where));
    check_lengths(heat.cells.back().size(), heat.columns.size(), where);
    for (const auto& value : heat.cells.back()) {
      if (value && !(*value >= 0.0 && *value <= 1.0)) refuse(where + " was expected to hold numbers from 0 to 1");
    }
  }
  check_lengths(heat.cells.size(), heat.rows.size(), place + ": \"cells\"");
  return heat;
}

double part(const Json& node, const char* key, const std::string& place) {
  const Json& value = member(node, key, place);
  if (!value.is_number() || !(value.get<double>() >= 0.0 && value.get<double>() <= 1.0)) {
    refuse(place + ": \"" + key + "\" was expected to be a number from 0 to 1, got " + value.dump());
  }
  return value.get<double>();
}

std::size_t node_number(const Json& value, std::size_t nodes, const std::string& place) {
  if (!value.is_number_unsigned() || value.get<std::size_t>() >= nodes) {
    refuse(place + " was expected to hold numbers of nodes, from 0 to " + std::to_string(nodes - 1) + ", got " +
           value.dump());
  }
  return value.get<std::size_t>();
}

FileGraph graph_of(const Json& panel, const std::string& place) {
  FileGraph graph;
  for (const Json& node : list(panel, "nodes", place)) {
    const std::string where = place + ", node " + std::to_string(graph.nodes.size() + 1);
    const bool is_wrong = node.is_object() && node.contains("wrong") && node.at("wrong") == true;
    graph.nodes.push_back({.x = part(node, "x", where),
                           .y = part(node, "y", where),
                           .kind = text(node, "kind", where),
                           .is_wrong = is_wrong,
                           .text = text(node, "text", where)});
  }
  if (!panel.contains("edges") || panel.at("edges").empty()) return graph;
  for (const Json& edge : list(panel, "edges", place)) {
    const std::string where = place + ", edge " + std::to_string(graph.edges.size() + 1);
    if (!edge.is_array()) refuse(where + " was expected to be a list");
    check_lengths(edge.size(), 2, where);
    graph.edges.emplace_back(node_number(edge[0], graph.nodes.size(), where),
                             node_number(edge[1], graph.nodes.size(), where));
  }
  return graph;
}

FilePanel panel_of(const Json& json, const std::string& place) {
  const Json& kind = member(json, "kind", place);
  FilePanel panel{.title = text(json, "title", place),
                  .x_title = text(json, "x_title", place),
                  .y_title = text(json, "y_title", place)};
  if (kind == "line") {
    panel.content = lines_of(json, place);
  } else if (kind == "bars") {
    panel.content = bars_of(json, place);
  } else if (kind == "heat") {
    panel.content = heat_of(json, place);
  } else if (kind == "graph") {
    panel.content = graph_of(json, place);
  } else {
    refuse(place + R"(: "kind" was expected to be "line", "bars", "heat" or "graph", got )" + kind.dump());
  }
  return panel;
}

// What needs a colour of its own.
std::size_t colored_names(const FigureFile& figure) {
  std::set<std::string> known;
  for (const FilePanel& panel : figure.panels) {
    if (const auto* lines = std::get_if<FileLines>(&panel.content)) {
      for (const FileSeries& series : lines->series) known.insert(series.name);
    } else if (const auto* graph = std::get_if<FileGraph>(&panel.content)) {
      for (const FileNode& node : graph->nodes) known.insert(node.kind);
    }
  }
  return known.size();
}

// An id becomes an anchor and a file name.
bool is_id(std::string_view id) {
  return !id.empty() && std::ranges::all_of(id, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

FigureFile figure_of(const std::string& name, const Json& json) {
  if (!json.is_object()) refuse("it holds no object");
  if (!is_id(name)) refuse("its name was expected to be of letters, digits, \"-\" and \"_\"");
  FigureFile figure{
      .id = text(json, "id", "it"), .title = text(json, "title", "it"), .caption = text(json, "caption", "it")};
  if (figure.id != name) refuse("\"id\" was expected to be the file's name, got \"" + figure.id + "\"");
  if (figure.title.empty()) figure.title = figure.id;
  for (const Json& panel : list(json, "panels", "it")) {
    figure.panels.push_back(panel_of(panel, "panel " + std::to_string(figure.panels.size() + 1)));
  }
  if (colored_names(figure) > kSeriesColors) {
    refuse("its lines and nodes have " + std::to_string(colored_names(figure)) + " names, and there are " +
           std::to_string(kSeriesColors) + " colours; write several figures, or bars or heat");
  }
  return figure;
}

}  // namespace

FigureFiles read_figures(const std::filesystem::path& run) {
  FigureFiles files;
  files.problems = read_json_folder(
      run / train::kFigureFolder, "a figure",
      [&](const std::string& name, const Json& content) { files.figures.push_back(figure_of(name, content)); });
  return files;
}

}  // namespace quest::report
