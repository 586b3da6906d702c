#include "report/attention_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>

#include "report/charts/markup.h"
#include "report/charts/step_axis.h"
#include "report/charts/table.h"
#include "report/charts/time_map.h"

namespace quest::report {
namespace {

using train::LayerRecord;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCells = 2400;  // of one map: more would make the page heavy
constexpr std::size_t kMostColumns = 40;
constexpr std::size_t kFewestColumns = 12;
constexpr double kFarApart = 20.0;  // values whose ratio is larger get logarithmic colours

using HeadValue = double (*)(const LayerRecord& record, std::size_t head);

template <train::HeadFigure figure>
double value_of(const LayerRecord& record, std::size_t head) {
  return (record.*figure)[head];
}

template <std::vector<train::NormQuantiles> LayerRecord::* norms, std::size_t quantile>
double quantile_of(const LayerRecord& record, std::size_t head) {
  return (record.*norms)[head][quantile];
}

// One map per run; `part` tells apart those that a figure has of the same run.
struct View {
  const char* part;
  HeadValue value;
};

struct Quantity {
  const char* id;
  const char* name;
  const char* title;
  const char* caption;
  std::vector<View> views;
};

constexpr std::size_t kMedian = 2;
constexpr std::size_t kUpper = 4;
static_assert(train::kNormQuantiles[kMedian] == 0.5 && train::kNormQuantiles[kUpper] == 0.95);

template <std::vector<train::NormQuantiles> LayerRecord::* norms>
std::vector<View> quantile_views() {
  return {{"median", quantile_of<norms, kMedian>}, {"95 % quantile", quantile_of<norms, kUpper>}};
}

const std::array<Quantity, 6> kQuantities = {{
    {"max-logit",
     "max logit",
     "Largest logit",
     "The largest logit of the watched batch. A head that grows without end is how a training with attention diverges: "
     "its softmax becomes one-hot and its gradients vanish or explode.",
     {{"", value_of<&LayerRecord::max_logit>}}},
    {"key-norm",
     "key norm",
     "Norm of the key behind the largest logit",
     "Where a logit grows with its key's norm, that key draws attention from every query. Keys that are normalised "
     "have "
     "a norm without effect.",
     {{"", value_of<&LayerRecord::key_norm>}}},
    {"key-norms", "key norm", "Norms of all keys",
     "Of every key of the watched batch, before any normalisation. The five quantiles are in stats.jsonl.",
     quantile_views<&LayerRecord::key_norms>()},
    {"query-norms", "query norm", "Norms of all queries",
     "With normalised keys, no logit exceeds the norm of its query: it sets how sharp attention can be.",
     quantile_views<&LayerRecord::query_norms>()},
    {"entropy",
     "entropy",
     "Entropy of attention",
     "Mean over the queries, in nats: 0 looks at one key, the logarithm of the number of keys looks at all alike.",
     {{"", value_of<&LayerRecord::entropy>}}},
    {"sink",
     "sink score",
     "Sink score",
     "The largest share of a sequence's attention that one key receives, averaged over the batch.",
     {{"", value_of<&LayerRecord::sink>}}},
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
std::vector<HeadLine> heads_of(const TrainingRun& run, HeadValue value) {
  std::vector<HeadLine> lines;
  std::map<std::pair<std::string, std::size_t>, std::size_t> place;
  for (const LayerRecord& record : run.layers) {
    for (std::size_t head = 0; head < record.heads(); ++head) {
      const auto [found, is_new] = place.try_emplace({record.layer, head}, lines.size());
      if (is_new) lines.push_back({record.layer, head, {}});
      lines[found->second].values.push_back({record.step, value(record, head)});
    }
  }
  return lines;
}

StepAxis axis_of(std::span<const HeadLine> lines) {
  std::vector<std::vector<std::int64_t>> steps(1);
  for (const StepValue& value : lines.front().values) steps.front().push_back(value.step);
  return {steps, std::clamp(kMostCells / lines.size(), kFewestColumns, kMostColumns)};
}

TimeMap map_of(const std::string& title, const Quantity& quantity, std::span<const HeadLine> lines) {
  const StepAxis axis = axis_of(lines);
  TimeMap map{.title = title,
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

void add_rows(base::Table& table, const std::string& title, std::span<const HeadLine> lines) {
  for (const HeadLine& line : lines) {
    const auto& values = line.values;
    const auto largest = std::ranges::max_element(
        values, {}, [](const StepValue& value) { return std::isnan(value.value) ? -kInfinity : value.value; });
    table.add_row({line.layer,
                   {std::to_string(line.head), static_cast<double>(line.head)},
                   title,
                   number_cell(values.front().value),
                   number_cell(values.back().value),
                   number_cell(largest->value),
                   {std::to_string(largest->step), static_cast<double>(largest->step)}});
  }
}

Figure figure_of(const Quantity& quantity, std::span<const NamedRun> runs) {
  Figure figure{.id = quantity.id, .title = quantity.title, .caption = quantity.caption};
  figure.values = {.caption = figure.title, .columns = {"layer", "head", "run", "first", "last", "largest", "at step"}};
  std::vector<TimeMap> maps;
  for (const NamedRun& run : runs) {
    for (const auto& [part, value] : quantity.views) {
      const auto lines = heads_of(*run.run, value);
      if (lines.empty()) continue;
      const std::string title = run.name + (*part == '\0' ? "" : ", ") + part;
      maps.push_back(map_of(title, quantity, lines));
      add_rows(figure.values, title, lines);
    }
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
