#include "report/file_figures.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "report/charts/bar_chart.h"
#include "report/charts/graph_drawing.h"
#include "report/charts/heat_map.h"
#include "report/charts/line_chart.h"
#include "report/charts/palette.h"
#include "report/charts/table.h"

namespace quest::report {
namespace {

using Names = std::vector<std::string>;

struct Entry {
  std::size_t run = 0;
  const FigureFile* file = nullptr;
};

struct PanelOfRun {
  std::size_t run = 0;
  const FilePanel* panel = nullptr;
};

// Panels of different runs that show the same.
using Shared = std::vector<PanelOfRun>;

struct NamedLine {
  std::string name;
  const FileSeries* series = nullptr;
};

bool show_the_same(const FilePanel& a, const FilePanel& b) {
  return a.content.index() == b.content.index() && a.title == b.title && a.x_title == b.x_title &&
         a.y_title == b.y_title;
}

std::vector<Shared> shared_panels(std::span<const Entry> entries) {
  std::vector<Shared> all;
  for (const Entry& entry : entries) {
    for (const FilePanel& panel : entry.file->panels) {
      // Of panels that look alike in one run, the second belongs to the second of the others.
      const auto place = std::ranges::find_if(all, [&](const Shared& shared) {
        return show_the_same(*shared.front().panel, panel) && shared.back().run != entry.run;
      });
      if (place == all.end()) {
        all.push_back({{entry.run, &panel}});
      } else {
        place->push_back({entry.run, &panel});
      }
    }
  }
  return all;
}

const FileLines& lines(const PanelOfRun& of_run) { return std::get<FileLines>(of_run.panel->content); }

// Such as the diagonal of a calibration curve.
bool is_common(const Shared& shared, const FileSeries& series) {
  return shared.size() > 1 && std::ranges::all_of(shared, [&](const PanelOfRun& of_run) {
           return std::ranges::find(lines(of_run).series, series) != lines(of_run).series.end();
         });
}

// Those of one run keep their names; of several, each line is named after its run, and what all draw alike comes once.
std::vector<NamedLine> named_lines(const Shared& shared, const Names& runs) {
  std::vector<NamedLine> named;
  std::vector<NamedLine> common;
  for (const PanelOfRun& of_run : shared) {
    std::vector<const FileSeries*> own;
    for (const FileSeries& series : lines(of_run).series) {
      if (!is_common(shared, series)) {
        own.push_back(&series);
      } else if (&of_run == &shared.front()) {
        common.push_back({series.name, &series});
      }
    }
    for (const FileSeries* series : own) {
      const std::string of_several = runs[of_run.run] + (own.size() == 1 ? "" : ", " + series->name);
      named.push_back({runs.size() == 1 ? series->name : of_several, series});
    }
  }
  std::ranges::copy(common, std::back_inserter(named));
  return named;
}

std::string bars_name(const PanelOfRun& of_run, const Names& runs) {
  return runs.size() == 1 ? std::get<FileBars>(of_run.panel->content).name : runs[of_run.run];
}

std::set<std::string> node_kinds(const PanelOfRun& of_run) {
  std::set<std::string> kinds;
  for (const FileNode& node : std::get<FileGraph>(of_run.panel->content).nodes) kinds.insert(node.kind);
  return kinds;
}

// What has a colour, in their order. Runs have the same as in the other figures of a page.
Names colored(const std::vector<Shared>& panels, const Names& runs) {
  Names names;
  for (const Shared& shared : panels) {
    if (std::holds_alternative<FileLines>(shared.front().panel->content)) {
      for (const NamedLine& line : named_lines(shared, runs)) names.push_back(line.name);
    } else if (std::holds_alternative<FileBars>(shared.front().panel->content)) {
      for (const PanelOfRun& of_run : shared) names.push_back(bars_name(of_run, runs));
    } else if (std::holds_alternative<FileGraph>(shared.front().panel->content)) {
      for (const PanelOfRun& of_run : shared) std::ranges::copy(node_kinds(of_run), std::back_inserter(names));
    }
  }
  const bool has_runs = runs.size() > 1 && std::ranges::find_first_of(names, runs) != names.end();
  Names result = has_runs ? runs : Names{};
  for (const std::string& name : names) {
    if (std::ranges::find(result, name) == result.end()) result.push_back(name);
  }
  return result;
}

// Which are compared by their differences, however small some of them are.
bool holds_fractions(const LineChart& chart) {
  return std::ranges::all_of(chart.series, [](const Series& series) {
    return std::ranges::all_of(series.points,
                               [](const auto& point) { return !point || (point->low >= 0.0 && point->high <= 1.0); });
  });
}

class Drawing {
 public:
  Drawing(Figure& figure, const Names& runs, const Names& colors) : figure_(figure), runs_(runs), colors_(colors) {}

  void add(const Shared& shared) {
    const auto& content = shared.front().panel->content;
    if (std::holds_alternative<FileLines>(content)) {
      add_lines(shared);
    } else if (std::holds_alternative<FileBars>(content)) {
      add_bars(shared);
    } else if (std::holds_alternative<FileGraph>(content)) {
      for (const PanelOfRun& of_run : shared) add_graph(of_run);
    } else {
      for (const PanelOfRun& of_run : shared) add_heat(of_run);
    }
  }

 private:
  [[nodiscard]] int color_of(const std::string& name) const {
    return static_cast<int>(std::ranges::find(colors_, name) - colors_.begin());
  }

  void add_row(const FilePanel& panel, const std::string& series, const base::Cell& at,
               const std::optional<double>& value) {
    figure_.values.add_row(
        {panel.title.empty() ? figure_.title : panel.title, series, at, value ? number_cell(*value) : base::Cell("–")});
  }

  void add_lines(const Shared& shared) {
    const FilePanel& panel = *shared.front().panel;
    LineChart chart{
        .title = panel.title, .x_title = panel.x_title, .y_title = panel.y_title, .empty_note = "no values"};
    for (const NamedLine& line : named_lines(shared, runs_)) {
      Series series{.name = line.name, .color = color_of(line.name), .x = line.series->x};
      for (std::size_t i = 0; i < series.x.size(); ++i) {
        const auto& y = line.series->y[i];
        series.points.push_back(y ? std::optional(base::Quartiles{*y, *y, *y}) : std::nullopt);
        add_row(panel, line.name, number_cell(series.x[i]), y);
      }
      chart.series.push_back(std::move(series));
    }
    if (holds_fractions(chart)) {
      chart.y = range_from_zero(chart.series);
    } else {
      fit_y(chart);
    }
    figure_.panels.push_back(line_chart(chart));
  }

  void add_bars(const Shared& shared) {
    const FilePanel& panel = *shared.front().panel;
    BarChart chart{
        .title = panel.title, .row_title = panel.x_title, .value_title = panel.y_title, .names = {}, .series = {}};
    for (const PanelOfRun& of_run : shared) {
      for (const std::string& name : std::get<FileBars>(of_run.panel->content).names) {
        if (std::ranges::find(chart.names, name) == chart.names.end()) chart.names.push_back(name);
      }
    }
    for (const PanelOfRun& of_run : shared) {
      const auto& bars = std::get<FileBars>(of_run.panel->content);
      const std::string name = bars_name(of_run, runs_);
      BarSeries series{.name = name, .color = color_of(name)};
      series.values.resize(chart.names.size());
      for (std::size_t i = 0; i < bars.names.size(); ++i) {
        series.values[std::ranges::find(chart.names, bars.names[i]) - chart.names.begin()] = bars.values[i];
        add_row(panel, name, bars.names[i], bars.values[i]);
      }
      chart.series.push_back(std::move(series));
    }
    figure_.panels.push_back(bar_chart(chart));
  }

  // Which stands in a figure of several runs alone.
  [[nodiscard]] std::string own_title(const PanelOfRun& of_run) const {
    const std::string& title = of_run.panel->title;
    if (runs_.size() == 1) return title;
    return runs_[of_run.run] + (title.empty() ? "" : ", " + title);
  }

  void add_graph(const PanelOfRun& of_run) {
    FilePanel panel = *of_run.panel;
    const auto& graph = std::get<FileGraph>(panel.content);
    panel.title = own_title(of_run);
    GraphDrawing drawing{.title = panel.title, .nodes = {}, .edges = graph.edges};
    for (const FileNode& node : graph.nodes) {
      drawing.nodes.push_back(
          {.x = node.x, .y = node.y, .color = color_of(node.kind), .is_wrong = node.is_wrong, .text = node.text});
    }
    std::map<std::string, double> counts;
    for (const FileNode& node : graph.nodes) counts[node.kind] += 1.0;
    for (const auto& [kind, count] : counts) add_row(panel, kind, "nodes", count);
    figure_.panels.push_back(graph_drawing(drawing));
  }

  void add_heat(const PanelOfRun& of_run) {
    FilePanel panel = *of_run.panel;
    const auto& heat = std::get<FileHeat>(panel.content);
    panel.title = own_title(of_run);
    for (std::size_t row = 0; row < heat.rows.size(); ++row) {
      for (std::size_t column = 0; column < heat.columns.size(); ++column) {
        add_row(panel, heat.rows[row], heat.columns[column], heat.cells[row][column]);
      }
    }
    figure_.panels.push_back(heat_map({.title = panel.title,
                                       .row_title = panel.y_title,
                                       .rows = heat.rows,
                                       .column_title = panel.x_title,
                                       .columns = heat.columns,
                                       .cells = heat.cells,
                                       .empty_note = "–"}));
  }

  Figure& figure_;
  const Names& runs_;
  const Names& colors_;
};

// Nothing where that takes more colours than there are.
std::optional<Figure> drawn(std::span<const Entry> entries, const Names& runs) {
  const auto panels = shared_panels(entries);
  const Names colors = colored(panels, runs);
  if (colors.size() > kSeriesColors) return std::nullopt;
  const FigureFile& file = *entries.front().file;
  Figure figure{.id = "figure-" + file.id,
                .title = file.title,
                .caption = file.caption,
                .values = {.caption = file.title, .columns = {"panel", "series", "at", "value"}}};
  for (std::size_t i = 0; colors.size() > 1 && i < colors.size(); ++i) {
    figure.legend.push_back({colors[i], static_cast<int>(i)});
  }
  Drawing drawing(figure, runs, colors);
  for (const Shared& shared : panels) drawing.add(shared);
  return figure;
}

}  // namespace

std::vector<Figure> file_figures(std::span<const RunFigures> runs) {
  Names names;
  std::map<std::string, std::vector<Entry>> by_id;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    names.push_back(runs[i].run);
    for (const FigureFile& file : runs[i].figures) by_id[file.id].push_back({i, &file});
  }
  std::vector<Figure> figures;
  for (const auto& [id, entries] : by_id) {
    if (auto figure = drawn(entries, names)) {
      figures.push_back(*std::move(figure));
      continue;
    }
    for (const Entry& entry : entries) {
      auto figure = drawn(std::vector<Entry>{{0, entry.file}}, {names[entry.run]});
      if (!figure) continue;  // a file has fewer: read_figures saw to it
      figure->id += "-run" + std::to_string(entry.run + 1);
      figure->title += ": " + names[entry.run];
      figures.push_back(*std::move(figure));
    }
  }
  return figures;
}

}  // namespace quest::report
