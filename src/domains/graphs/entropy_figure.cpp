#include "domains/graphs/entropy_figure.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>

#include "base/quartiles.h"
#include "report/charts/line_chart.h"
#include "report/charts/markup.h"
#include "report/charts/palette.h"
#include "report/training_read.h"

namespace quest::graphs {
namespace {

// For each layer, the mean over its heads at the last step that was watched.
std::vector<double> entropies(const report::TrainingRun& run) {
  std::vector<double> means;
  if (run.layers.empty()) return means;
  const auto last = run.layers.back().step;
  for (const auto& record : run.layers) {
    if (record.step != last || record.entropy.empty()) continue;
    const double sum = std::accumulate(record.entropy.begin(), record.entropy.end(), 0.0);
    means.push_back(sum / static_cast<double>(record.entropy.size()));
  }
  return means;
}

using BySeed = std::vector<std::vector<double>>;      // of each run, by layer
using ByFormulation = std::map<std::string, BySeed>;  // of a data set
using ByData = std::map<std::string, ByFormulation>;

ByData read(std::span<const paper::Run> runs) {
  ByData all;
  for (const auto& run : runs) {
    const auto data = run.settings.find("data.name");
    const auto formulation = run.settings.find("model.formulation");
    const bool is_ours = run.task == "graphs" && data != run.settings.end() && formulation != run.settings.end();
    if (!is_ours || !paper::has_ended_well(run.status)) continue;
    auto layers = entropies(report::read_training_run(run.folder));
    if (!layers.empty()) all[data->second][formulation->second].push_back(std::move(layers));
  }
  return all;
}

report::Series series_of(const std::string& name, int color, const BySeed& runs) {
  report::Series series{.name = name, .color = color, .points = {}};
  for (std::size_t layer = 0; layer < runs.front().size(); ++layer) {
    std::vector<double> values;
    for (const auto& run : runs) {
      if (layer < run.size()) values.push_back(run[layer]);
    }
    series.points.push_back(base::quartiles(values));
  }
  return series;
}

}  // namespace

std::vector<report::Figure> entropy_figures(std::span<const paper::Run> runs) {
  const auto all = read(runs);
  std::set<std::string> formulations;
  for (const auto& [data, by_formulation] : all) {
    for (const auto& [name, seeds] : by_formulation) formulations.insert(name);
  }
  if (all.empty() || formulations.size() > report::kSeriesColors) return {};
  report::Figure figure{.id = "entropy-by-layer",
                        .title = "Entropy of attention, layer by layer",
                        .caption =
                            "At the end of training, in nats, mean over heads and queries: 0 looks at one node, "
                            "the logarithm of the number of nodes looks at all alike. Medians over seeds, and "
                            "the band between the quartiles.",
                        .values = {.caption = "Entropy of attention", .columns = {"data", "series", "layer", "nats"}}};
  for (const auto& name : formulations) figure.legend.push_back({name, static_cast<int>(figure.legend.size())});
  for (const auto& [data, by_formulation] : all) {
    report::LineChart chart{.title = data, .x_title = "layer", .y_title = "entropy, nats", .empty_note = "not watched"};
    for (const auto& [name, seeds] : by_formulation) {
      const auto color = static_cast<int>(std::distance(formulations.begin(), formulations.find(name)));
      chart.series.push_back(series_of(name, color, seeds));
      for (std::size_t layer = 0; layer < chart.series.back().points.size(); ++layer) {
        const auto* point = chart.series.back().at(layer);
        if (point == nullptr) continue;
        figure.values.add_row({data, name, std::to_string(layer + 1), report::compact(point->middle)});
      }
    }
    chart.y = report::range_from_zero(chart.series);
    figure.panels.push_back(report::line_chart(chart));
  }
  return {std::move(figure)};
}

}  // namespace quest::graphs
