#include "report/attention_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "report/markup.h"
#include "report/step_axis.h"
#include "report/time_map.h"

namespace quest::report {
namespace {

using train::LayerRecord;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCells = 2400;  // of one map: more would make the page heavy
constexpr std::size_t kMostColumns = 40;
constexpr std::size_t kFewestColumns = 12;
constexpr double kFarApart = 20.0;  // values whose ratio is larger get logarithmic colours

struct Quantity {
  const char* id;
  const char* name;
  const char* title;
  const char* caption;
  train::HeadFigure figure;
};

constexpr std::array<Quantity, 4> kQuantities = {{
    {"max-logit", "max logit", "Largest logit",
     "The largest logit of the watched batch. A head that grows without end is how a training with attention diverges: "
     "its softmax becomes one-hot and its gradients vanish or explode.",
     &LayerRecord::max_logit},
    {"key-norm", "key norm", "Norm of the key behind the largest logit",
     "Where a logit grows with its key's norm, that key draws attention from every query. Keys that are normalised "
     "have "
     "a norm without effect.",
     &LayerRecord::key_norm},
    {"entropy", "entropy", "Entropy of attention",
     "Mean over the queries, in nats: 0 looks at one key, the logarithm of the number of keys looks at all alike.",
     &LayerRecord::entropy},
    {"sink", "sink score", "Sink score",
     "The largest share of a sequence's attention that one key receives, averaged over the batch.", &LayerRecord::sink},
}};

std::vector<std::string> parts_of(const std::string& dotted) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= dotted.size();) {
    const auto end = std::min(dotted.find('.', at), dotted.size());
    parts.push_back(dotted.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

// One head of one layer of a run.
struct HeadLine {
  std::string layer;
  std::size_t head = 0;
  std::vector<StepValue> values;
};

// In the order in which the run names its layers, which is that of the model.
std::vector<HeadLine> heads_of(const TrainingRun& run, train::HeadFigure figure) {
  std::vector<HeadLine> lines;
  std::map<std::pair<std::string, std::size_t>, std::size_t> place;
  for (const LayerRecord& record : run.layers) {
    for (std::size_t head = 0; head < record.heads(); ++head) {
      const auto [found, is_new] = place.try_emplace({record.layer, head}, lines.size());
      if (is_new) lines.push_back({record.layer, head, {}});
      lines[found->second].values.push_back({record.step, (record.*figure)[head]});
    }
  }
  return lines;
}

StepAxis axis_of(std::span<const HeadLine> lines) {
  std::vector<std::vector<std::int64_t>> steps(1);
  for (const StepValue& value : lines.front().values) steps.front().push_back(value.step);
  return {steps, std::clamp(kMostCells / lines.size(), kFewestColumns, kMostColumns)};
}

TimeMap map_of(const NamedRun& run, const Quantity& quantity, std::span<const HeadLine> lines) {
  const StepAxis axis = axis_of(lines);
  TimeMap map{.title = run.name,
              .value_name = quantity.name,
              .group_title = "layer",
              .row_title = "head",
              .x_title = "step",
              .steps = axis.steps()};
  std::vector<std::string> layers;
  for (const HeadLine& line : lines) layers.push_back(line.layer);
  const auto names = short_names(layers);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    TimeMapRow row{names[i], std::to_string(lines[i].head), {}};
    for (const auto& point : axis.points(lines[i].values)) {
      row.values.push_back(point ? std::optional(point->middle) : std::nullopt);
    }
    map.rows.push_back(std::move(row));
  }
  return map;
}

// The same colours in every map.
void color(std::span<TimeMap> maps) {
  double least = kInfinity;
  double most = -kInfinity;
  for (const TimeMap& map : maps) {
    for (const TimeMapRow& row : map.rows) {
      for (const auto& value : row.values) {
        if (!value) continue;
        least = std::min(least, *value);
        most = std::max(most, *value);
      }
    }
  }
  const bool far_apart = least > 0.0 && most > kFarApart * least;
  for (TimeMap& map : maps) {
    map.colors = {far_apart ? least : std::min(least, 0.0), most};
    map.spacing = far_apart ? Spacing::logarithmic : Spacing::linear;
  }
}

void add_rows(Table& table, const NamedRun& run, std::span<const HeadLine> lines) {
  const auto cell = [](double value) { return std::isfinite(value) ? Cell(compact(value), value) : Cell("–"); };
  for (const HeadLine& line : lines) {
    const auto& values = line.values;
    const auto largest = std::ranges::max_element(
        values, {}, [](const StepValue& value) { return std::isnan(value.value) ? -kInfinity : value.value; });
    table.rows.push_back({line.layer,
                          {std::to_string(line.head), static_cast<double>(line.head)},
                          run.name,
                          cell(values.front().value),
                          cell(values.back().value),
                          cell(largest->value),
                          {std::to_string(largest->step), static_cast<double>(largest->step)}});
  }
}

Figure figure_of(const Quantity& quantity, std::span<const NamedRun> runs) {
  Figure figure{.id = quantity.id, .title = quantity.title, .caption = quantity.caption};
  figure.values = {figure.title, {"layer", "head", "run", "first", "last", "largest", "at step"}, {}};
  std::vector<TimeMap> maps;
  for (const NamedRun& run : runs) {
    const auto lines = heads_of(*run.run, quantity.figure);
    if (lines.empty()) continue;
    maps.push_back(map_of(run, quantity, lines));
    add_rows(figure.values, run, lines);
  }
  color(maps);
  for (const TimeMap& map : maps) figure.panels.push_back(time_map(map));
  return figure;
}

}  // namespace

std::vector<std::string> short_names(const std::vector<std::string>& dotted) {
  std::vector<std::vector<std::string>> names;
  names.reserve(dotted.size());
  for (const std::string& name : dotted) names.push_back(parts_of(name));
  const auto all_share = [&names](const auto& part_of) {
    return std::ranges::all_of(
        names, [&](const auto& parts) { return parts.size() > 1 && part_of(parts) == part_of(names.front()); });
  };
  if (names.empty() || std::ranges::all_of(names, [&](const auto& parts) { return parts == names.front(); }))
    return dotted;
  while (all_share([](const auto& parts) { return parts.front(); })) {
    for (auto& parts : names) parts.erase(parts.begin());
  }
  while (all_share([](const auto& parts) { return parts.back(); })) {
    for (auto& parts : names) parts.pop_back();
  }
  std::vector<std::string> result;
  for (const auto& parts : names) {
    auto& name = result.emplace_back(parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) name += "." + parts[i];
  }
  return result;
}

std::vector<Figure> attention_figures(std::span<const NamedRun> runs) {
  std::vector<Figure> figures;
  if (std::ranges::all_of(runs, [](const NamedRun& run) { return run.run->layers.empty(); })) return figures;
  for (const Quantity& quantity : kQuantities) figures.push_back(figure_of(quantity, runs));
  return figures;
}

}  // namespace quest::report
