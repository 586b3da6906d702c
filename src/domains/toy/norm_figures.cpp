#include "domains/toy/norm_figures.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/json_number.h"
#include "base/quartiles.h"
#include "domains/toy/spurious_result.h"
#include "report/charts/line_chart.h"
#include "report/charts/markup.h"

namespace quest::toy {
namespace {

constexpr const char* kBands = "Median over trainings, and the band between the quartiles.";

std::vector<double> series_of(const Finding& finding, const char* name) {
  std::vector<double> values;
  if (!finding.series->is_object() || !finding.series->contains(name)) return values;
  for (const auto& value : finding.series->at(name)) values.push_back(base::number_or_nan(value));
  return values;
}

using ByEpoch = std::function<std::vector<double>(const Finding&)>;

// Failed trainings of a kind, or successful ones.
struct Group {
  std::vector<const Finding*> findings;

  Group(const Kind& kind, bool successful) {
    for (const Finding& finding : kind.findings) {
      if ((finding.outcome == Outcome::correct) == successful) findings.push_back(&finding);
    }
  }

  [[nodiscard]] report::Series series(const std::string& name, int color, const ByEpoch& by_epoch) const {
    std::vector<std::vector<double>> epochs;
    for (const Finding* finding : findings) {
      const auto values = by_epoch(*finding);
      if (epochs.size() < values.size()) epochs.resize(values.size());
      for (std::size_t epoch = 0; epoch < values.size(); ++epoch) epochs[epoch].push_back(values[epoch]);
    }
    report::Series series{.name = name, .color = color, .points = {}};
    for (const auto& values : epochs) series.points.push_back(base::quartiles(values));
    return series;
  }

  [[nodiscard]] std::vector<report::Series> norms() const {
    const auto named = [this](const std::string& name, int color, const char* of_run) {
      return series(name, color, [of_run](const Finding& finding) { return series_of(finding, of_run); });
    };
    return {named("biased answer", 0, kBiasedKeyNorm), named("unbiased answer", 1, kUnbiasedKeyNorm),
            named("other tokens", 2, kOtherKeyNorm)};
  }

  [[nodiscard]] report::Series ratio(const std::string& name, int color) const {
    return series(name, color, [](const Finding& finding) {
      auto values = series_of(finding, kBiasedKeyNorm);
      const auto unbiased = series_of(finding, kUnbiasedKeyNorm);
      values.resize(std::min(values.size(), unbiased.size()));
      std::ranges::transform(values, unbiased, values.begin(), std::divides());
      return values;
    });
  }
};

void add_rows(report::Figure& figure, const std::string& kind, const std::vector<report::Series>& series) {
  std::size_t epochs = 0;
  for (const report::Series& one : series) epochs = std::max(epochs, one.points.size());
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<base::Cell> row = {kind, {std::to_string(epoch + 1), static_cast<double>(epoch + 1)}};
    for (const report::Series& one : series) {
      const base::Quartiles* point = one.at(epoch);
      row.push_back(point == nullptr ? base::Cell("–") : base::Cell(report::number(point->middle), point->middle));
    }
    figure.values.add_row(std::move(row));
  }
}

void add_panel(report::Figure& figure, const std::string& kind, const report::LineChart& chart) {
  figure.panels.push_back(report::line_chart(chart));
  if (figure.legend.empty()) {
    figure.values = {figure.title + ", medians", {"formulation", "epoch"}, {}};
    for (const report::Series& one : chart.series) {
      figure.legend.push_back({one.name, one.color});
      figure.values.columns.emplace_back(one.name);
    }
  }
  add_rows(figure, kind, chart.series);
}

std::string counted(const Kind& kind, const Group& group, const std::string& what) {
  return kind.name + ", " + report::grouped(static_cast<long long>(group.findings.size())) + " " + what;
}

report::LineChart norm_chart(const std::string& title, const std::string& empty_note, const report::Range& y,
                             const std::vector<report::Series>& series) {
  return {
      .title = title, .x_title = "epoch", .y_title = "key norm", .empty_note = empty_note, .y = y, .series = series};
}

}  // namespace

std::vector<report::Figure> norm_figures(std::span<const Kind> kinds) {
  report::Figure failed{.id = "norms-failed",
                        .title = "Key norms in trainings that failed",
                        .caption = std::string(kBands) +
                                   " The paper finds the answer keys of biased samples growing in failed trainings of "
                                   "standard and qnorm. Where keys are normalised, their norm has no effect."};
  report::Figure successful{
      .id = "norms-successful",
      .title = "Key norms in trainings that succeeded",
      .caption = std::string(kBands) + " Same vertical axis per formulation as in the figure of those that failed."};
  report::Figure ratio{
      .id = "norm-ratio",
      .title = "Key norm of biased over unbiased answers",
      .caption = std::string(kBands) + " At 1, the pattern makes no key longer than other answers' keys."};
  for (const Kind& kind : kinds) {
    const Group stuck(kind, false);
    const Group solved(kind, true);
    const auto stuck_norms = stuck.norms();
    const auto solved_norms = solved.norms();
    auto both = stuck_norms;
    std::ranges::copy(solved_norms, std::back_inserter(both));
    const report::Range y = report::range_from_zero(both);
    add_panel(failed, kind.name, norm_chart(counted(kind, stuck, "failed"), "no training failed", y, stuck_norms));
    add_panel(successful, kind.name,
              norm_chart(counted(kind, solved, "succeeded"), "no training succeeded", y, solved_norms));
    const std::vector<report::Series> ratios = {stuck.ratio("failed", 0), solved.ratio("succeeded", 1)};
    add_panel(ratio, kind.name,
              {.title = kind.name,
               .x_title = "epoch",
               .y_title = "norm ratio",
               .empty_note = "no training",
               .y = report::range_from_zero(ratios),
               .series = ratios});
  }
  return {failed, successful, ratio};
}

}  // namespace quest::toy
