#include "paper/comparison.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>

#include "paper/number_text.h"
#include "recipe/fields.h"
#include "train/run/evaluation_file.h"

namespace quest::paper {
namespace {

const std::string* value_of(const Run& run, const std::string& key) {
  if (key == "recipe") return &run.recipe;
  const auto found = run.settings.find(key);
  return found == run.settings.end() ? nullptr : &found->second;
}

bool have_runs(const std::vector<Grid>& grids, std::span<const Run> runs) {
  return !grids.empty() && std::ranges::all_of(grids, [&](const Grid& grid) {
    return std::ranges::find(runs, grid.recipe, &Run::recipe) != runs.end();
  });
}

void require_key(const std::string& key, const std::string& place, std::span<const Run> runs) {
  if (std::ranges::any_of(runs, [&](const Run& run) { return value_of(run, key) != nullptr; })) return;
  std::set<std::string> known = {"recipe"};
  for (const Run& run : runs) {
    for (const auto& [name, value] : run.settings) known.insert(name);
  }
  throw std::runtime_error(place + ": no run has the key \"" + key + "\"; the nearest is \"" +
                           recipe::nearest(key, std::vector(known.begin(), known.end())) + "\"");
}

void check_keys(const Experiment& experiment, const Item& item, std::span<const Run> runs) {
  if (!have_runs(experiment.sweep, runs) && !have_runs(experiment.small, runs)) return;
  if (!experiment.split.empty()) require_key(experiment.split, experiment.split_place, runs);
  for (const auto* lines : {&item.rows, &item.columns}) {
    for (const Line& line : *lines) {
      for (const auto& [key, value] : line.match.value_or(Match{})) require_key(key, line.match_place, runs);
    }
  }
}

bool matches(const Run& run, const Match& match) {
  return std::ranges::all_of(match, [&](const auto& setting) {
    const auto* value = value_of(run, setting.first);
    return value != nullptr && canonical_value(*value) == canonical_value(setting.second);
  });
}

using RunList = std::vector<const Run*>;

RunList matching(const RunList& runs, const std::optional<Match>& match) {
  RunList result;
  if (!match) return result;
  std::ranges::copy_if(runs, std::back_inserter(result), [&](const Run* run) { return matches(*run, *match); });
  return result;
}

// What a table asks of runs: "attacks:pgd" is the metric pgd of the evaluation attacks.
struct MetricKey {
  std::string evaluation;
  std::string name;
};

MetricKey metric_key(const std::string& text) {
  const auto colon = text.find(':');
  if (colon == std::string::npos) return {train::kBestEvaluation, text};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

// What the runs of a metric wrote, to tell a metric that does not exist from one that is still to come.
class MetricUse {
 public:
  // Nothing where the run has no such number, or one that is not finite. `place` is where the metric is asked for.
  std::optional<double> value(const Run& run, const std::string& metric, const std::string& place) {
    const auto [evaluation, name] = metric_key(metric);
    const auto found = run.evaluations.find(evaluation);
    if (found == run.evaluations.end()) return std::nullopt;
    auto& use = uses_[metric];
    use.place = place;
    for (const auto& [written, number] : found->second) use.written.insert(written);
    use.folder = run.folder.string();
    const auto number = found->second.find(name);
    if (number == found->second.end() || !std::isfinite(number->second)) return std::nullopt;
    return number->second;
  }

  void check(const Item& item) const {
    for (const auto& [metric, use] : uses_) {
      const auto [evaluation, name] = metric_key(metric);
      if (use.written.contains(name)) continue;
      std::string names;
      for (const auto& written : use.written) names += (names.empty() ? "" : ", ") + written;
      throw std::runtime_error(use.place + ": " + item.label + " asks for \"" + name + "\", which the evaluation \"" +
                               evaluation + "\" did not write for the run in \"" + use.folder +
                               "\"; expected one of: " + (names.empty() ? "none" : names));
    }
  }

 private:
  struct Use {
    std::string place;
    std::set<std::string> written;
    std::string folder;
  };
  std::map<std::string, Use> uses_;
};

std::optional<Ours> ours_of(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  const auto count = static_cast<double>(values.size());
  Ours ours{.values = std::move(values)};
  ours.mean = std::accumulate(ours.values.begin(), ours.values.end(), 0.0) / count;
  double squares = 0.0;
  for (const double value : ours.values) squares += (value - ours.mean) * (value - ours.mean);
  ours.deviation = ours.values.size() > 1 ? std::sqrt(squares / (count - 1.0)) : 0.0;
  return ours;
}

// The cells of an item, one row of runs at a time.
class Cells {
 public:
  explicit Cells(const Item& item) : item_(item) {}

  Comparison::Row row(std::size_t place, const RunList& runs, const std::string& split) {
    Comparison::Row row{.title = item_.rows[place].title, .split = split, .cells = {}};
    for (std::size_t i = 0; i < item_.columns.size(); ++i) {
      auto cell = filled(item_.rows[place], item_.columns[i], runs);
      if (!item_.numbers.empty()) cell.paper = item_.numbers[place][i];
      row.cells.push_back(std::move(cell));
    }
    return row;
  }

  void check() const { use_.check(item_); }

 private:
  ComparedCell filled(const Line& row, const Line& column, const RunList& runs) {
    const Line* owner = !row.metric.empty() ? &row : !column.metric.empty() ? &column : nullptr;
    const auto& metric = owner != nullptr ? owner->metric : item_.metric;
    const auto& place = owner != nullptr ? owner->metric_place : item_.metric_place;
    const double factor = row.factor.value_or(column.factor.value_or(item_.factor));
    ComparedCell cell{.ours = std::nullopt, .paper = std::nullopt};
    cell.decimals = row.decimals.value_or(column.decimals.value_or(item_.decimals));
    cell.higher_is_better = row.higher_is_better.value_or(column.higher_is_better.value_or(item_.higher_is_better));
    std::vector<double> values;
    for (const Run* run : matching(runs, column.match)) {
      if (run->status.starts_with("crashed")) ++cell.crashed;
      if (!has_ended_well(run->status)) continue;
      if (const auto value = use_.value(*run, metric, place)) values.push_back(*value * factor);
    }
    cell.ours = ours_of(std::move(values));
    return cell;
  }

  const Item& item_;
  MetricUse use_;
};

// Those the sweeps name, in their order, then the others that runs have.
std::vector<std::string> split_values(const Experiment& experiment, std::span<const Run> runs) {
  std::vector<std::string> values;
  const auto add = [&](const std::string& value) {
    if (std::ranges::find(values, canonical_value(value)) == values.end()) values.push_back(canonical_value(value));
  };
  for (const auto* grids : {&experiment.sweep, &experiment.small}) {
    for (const Grid& grid : *grids) {
      const auto axis = std::ranges::find(grid.axes, experiment.split, &Axis::key);
      if (axis != grid.axes.end()) std::ranges::for_each(axis->values, add);
    }
  }
  for (const Run& run : runs) {
    if (const auto* value = value_of(run, experiment.split)) add(*value);
  }
  return values;
}

bool has_ours(const Comparison::Row& row) {
  return std::ranges::any_of(row.cells, [](const ComparedCell& cell) { return cell.ours || cell.crashed > 0; });
}

// Of one value of the split.
std::optional<Comparison::Row> mean_of(const std::vector<Comparison::Row>& rows, const std::string& split) {
  std::vector<const Comparison::Row*> whole;
  for (const auto& row : rows) {
    const bool is_whole = std::ranges::all_of(
        row.cells, [](const ComparedCell& cell) { return cell.ours && cell.paper && cell.paper->value; });
    if (row.split == split && is_whole) whole.push_back(&row);
  }
  if (whole.empty()) return std::nullopt;
  Comparison::Row mean{.title = "mean of " + std::to_string(whole.size()), .split = split, .cells = {}};
  for (std::size_t i = 0; i < whole.front()->cells.size(); ++i) {
    ComparedCell cell = whole.front()->cells[i];
    std::vector<double> values;
    double paper = 0.0;
    for (const auto* row : whole) {
      values.push_back(row->cells[i].ours->mean);
      paper += *row->cells[i].paper->value / static_cast<double>(whole.size());
    }
    cell.ours = ours_of(std::move(values));
    cell.ours->deviation = 0.0;  // what parts one row from another is no spread
    cell.paper = Number{.text = fixed(paper, cell.decimals), .value = paper, .spread = std::nullopt};
    cell.crashed = 0;
    mean.cells.push_back(std::move(cell));
  }
  return mean;
}

}  // namespace

Comparison compare(const Experiment& experiment, const Item& item, std::span<const Run> runs) {
  check_keys(experiment, item, runs);
  Comparison comparison{.item = &item, .split = experiment.split, .columns = {}, .rows = {}, .means = {}};
  for (const Line& column : item.columns) comparison.columns.push_back(column.title);
  RunList all;
  for (const Run& run : runs) all.push_back(&run);
  auto splits = experiment.split.empty() ? std::vector<std::string>{""} : split_values(experiment, runs);
  Cells cells(item);
  for (std::size_t place = 0; place < item.rows.size(); ++place) {
    const auto of_row = matching(all, item.rows[place].match);
    const auto rows_before = comparison.rows.size();
    for (const auto& split : splits) {
      const auto part = experiment.split.empty() ? of_row : matching(of_row, Match{{experiment.split, split}});
      auto row = cells.row(place, part, split);
      if (has_ours(row)) comparison.rows.push_back(std::move(row));
    }
    if (comparison.rows.size() == rows_before) comparison.rows.push_back(cells.row(place, {}, ""));
  }
  cells.check();
  if (!item.has_means) return comparison;
  for (const auto& split : splits) {
    if (auto mean = mean_of(comparison.rows, split)) comparison.means.push_back(std::move(*mean));
  }
  return comparison;
}

}  // namespace quest::paper
