#include "domains/toy/toy_figures.h"

#include <algorithm>
#include <array>
#include <functional>

#include "report/charts/heat_map.h"
#include "report/charts/histogram.h"
#include "report/charts/line_chart.h"
#include "report/charts/markup.h"
#include "base/quartiles.h"

namespace quest::toy {
namespace {

using toy::engine::EpochRecord;
using toy::engine::SweepResult;

constexpr int kBins = 20;
constexpr int kShortDecimals = 6;  // enough for a learning rate

std::vector<std::string> texts_of(const std::vector<double>& values) {
  std::vector<std::string> texts;
  texts.reserve(values.size());
  for (const double value : values) texts.push_back(report::number(value, kShortDecimals));
  return texts;
}

report::Figure success_figure(const ToyRun& run, const std::string& prefix) {
  const auto& settings = run.settings;
  report::Figure figure{.id = prefix + "success",
                .title = "Success rate over learning rate and weight decay",
                .caption = "Percent of trainings whose final train and test accuracy are both above 90 %."};
  figure.values = {figure.title, {"formulation", "learning rate", "weight decay", "success"}, {}};
  const auto rows = texts_of(settings.learning_rates);
  const auto columns = texts_of(settings.weight_decays);
  for (const auto& summary : summarize(settings, run.results)) {
    const std::string share = summary.trainings == 0 ? "not trained" : report::percent(summary.success_rate());
    figure.panels.push_back(report::heat_map({.title = summary.formulation + ", " + share,
                                      .row_title = "learning rate",
                                      .rows = rows,
                                      .column_title = "weight decay",
                                      .columns = columns,
                                      .cells = summary.success}));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        const auto value = summary.success[r][c];
        figure.values.rows.push_back({summary.formulation,
                                      {rows[r], settings.learning_rates[r]},
                                      {columns[c], settings.weight_decays[c]},
                                      value ? report::Cell(report::percent(*value), *value) : report::Cell("–")});
      }
    }
  }
  return figure;
}

report::Figure accuracy_figure(const ToyRun& run, const std::string& id, const std::string& kind,
                       float SweepResult::* accuracy) {
  report::Figure figure{.id = id,
                .title = "Distribution of " + kind + " accuracy",
                .caption = "Of the final weights of every training, in bins of 5 %. Chance is 10 %."};
  figure.values = {figure.title, {"accuracy"}, {}};
  for (int bin = 0; bin < kBins; ++bin) {
    figure.values.rows.push_back({{report::bin_name(bin, kBins), static_cast<double>(bin)}});
  }
  std::vector<std::vector<int>> counts;
  int most = 1;
  for (const auto& formulation : run.settings.formulations) {
    std::vector<double> values;
    for (const ToyResult& result : run.results) {
      if (result.training.formulation == formulation) values.push_back(result.figures.*accuracy);
    }
    counts.push_back(base::bin_counts(values, kBins));
    most = std::max(most, std::ranges::max(counts.back()));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto& formulation = run.settings.formulations[i];
    figure.panels.push_back(report::histogram({.title = formulation,
                                       .x_title = kind + " accuracy, %",
                                       .y_title = "trainings",
                                       .counts = counts[i],
                                       .most = most}));
    figure.values.columns.push_back(formulation);
    for (int bin = 0; bin < kBins; ++bin) {
      figure.values.rows[bin].emplace_back(report::grouped(counts[i][bin]), static_cast<double>(counts[i][bin]));
    }
  }
  return figure;
}

using Quantity = std::function<double(const EpochRecord&)>;

struct Group {
  std::vector<const ToyResult*> trainings;

  Group(const ToyRun& run, const std::string& formulation, bool successful) {
    for (const ToyResult& result : run.results) {
      if (result.training.formulation != formulation) continue;
      if ((result.outcome() == Outcome::correct) == successful) trainings.push_back(&result);
    }
  }

  [[nodiscard]] report::Series series(const std::string& name, int color, const Quantity& quantity) const {
    report::Series series{.name = name, .color = color, .points = {}};
    std::size_t epochs = 0;
    for (const ToyResult* result : trainings) epochs = std::max(epochs, result->figures.epochs.size());
    for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
      std::vector<double> values;
      for (const ToyResult* result : trainings) {
        if (epoch < result->figures.epochs.size()) values.push_back(quantity(result->figures.epochs[epoch]));
      }
      series.points.push_back(base::quartiles(values));
    }
    return series;
  }

  [[nodiscard]] std::vector<report::Series> norms() const {
    return {series("biased answer", 0, [](const EpochRecord& epoch) { return epoch.biased_key_norm; }),
            series("unbiased answer", 1, [](const EpochRecord& epoch) { return epoch.unbiased_key_norm; }),
            series("other tokens", 2, [](const EpochRecord& epoch) { return epoch.other_key_norm; })};
  }

  [[nodiscard]] report::Series ratio(const std::string& name, int color) const {
    return series(name, color, [](const EpochRecord& epoch) {
      return static_cast<double>(epoch.biased_key_norm) / epoch.unbiased_key_norm;
    });
  }
};

void add_rows(report::Table& table, const std::string& formulation, const std::vector<report::Series>& series) {
  std::size_t epochs = 0;
  for (const report::Series& one : series) epochs = std::max(epochs, one.points.size());
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<report::Cell> row = {formulation, {std::to_string(epoch + 1), static_cast<double>(epoch + 1)}};
    for (const report::Series& one : series) {
      const base::Quartiles* point = one.at(epoch);
      row.push_back(point == nullptr ? report::Cell("–") : report::Cell(report::number(point->middle), point->middle));
    }
    table.rows.push_back(std::move(row));
  }
}

void add_panel(report::Figure& figure, const std::string& formulation, const std::string& title, const std::string& y_title,
               const std::string& empty_note, report::Range y, const std::vector<report::Series>& series) {
  figure.panels.push_back(report::line_chart(
      {.title = title, .x_title = "epoch", .y_title = y_title, .empty_note = empty_note, .y = y, .series = series}));
  if (figure.legend.empty()) {
    figure.values = {figure.title + ", medians", {"formulation", "epoch"}, {}};
    for (const report::Series& one : series) {
      figure.legend.push_back({one.name, one.color});
      figure.values.columns.push_back(one.name);
    }
  }
  add_rows(figure.values, formulation, series);
}

std::string counted(const std::string& formulation, std::size_t count, const std::string& kind) {
  return formulation + ", " + report::grouped(static_cast<long long>(count)) + " " + kind;
}

constexpr const char* kBands = "Median over trainings, and the band between the quartiles.";

std::vector<report::Figure> norm_figures(const ToyRun& run, const std::string& prefix) {
  report::Figure failed{.id = prefix + "norms-failed",
                .title = "Key norms in trainings that failed",
                .caption = std::string(kBands) +
                           " The paper finds the answer keys of biased samples growing in failed trainings of "
                           "standard and qnorm. Where keys are normalised, their norm has no effect."};
  report::Figure successful{.id = prefix + "norms-successful",
                    .title = "Key norms in trainings that succeeded",
                    .caption = std::string(kBands) + " Same vertical axis per formulation as in the figure above."};
  report::Figure ratio{.id = prefix + "norm-ratio",
               .title = "Key norm of biased over unbiased answers",
               .caption = std::string(kBands) + " At 1, the pattern makes no key longer than other answers' keys."};
  for (const auto& formulation : run.settings.formulations) {
    const Group stuck(run, formulation, false);
    const Group solved(run, formulation, true);
    auto both = stuck.norms();
    std::ranges::copy(solved.norms(), std::back_inserter(both));
    const report::Range norm_range = report::range_from_zero(both);
    add_panel(failed, formulation, counted(formulation, stuck.trainings.size(), "failed"), "key norm",
              "no training failed", norm_range, stuck.norms());
    add_panel(successful, formulation, counted(formulation, solved.trainings.size(), "succeeded"), "key norm",
              "no training succeeded", norm_range, solved.norms());
    const std::vector<report::Series> ratios = {stuck.ratio("failed", 0), solved.ratio("succeeded", 1)};
    add_panel(ratio, formulation, formulation, "norm ratio", "no training", report::range_from_zero(ratios), ratios);
  }
  return {failed, successful, ratio};
}

}  // namespace

ToyFigures toy_figures(const ToyRun& run, const std::string& prefix) {
  return {.success = success_figure(run, prefix),
          .accuracies = {accuracy_figure(run, prefix + "train-accuracy", "train", &SweepResult::train_accuracy),
                         accuracy_figure(run, prefix + "test-accuracy", "test", &SweepResult::test_accuracy)},
          .norms = norm_figures(run, prefix)};
}

}  // namespace quest::toy
