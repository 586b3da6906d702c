#include "bench/step_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "terminal/table.h"

namespace quest::bench {
namespace {

constexpr const char* kNotMeasured = "-";

base::Cell number_cell(std::optional<double> number) {
  if (!number) return kNotMeasured;
  return {terminal::three_digits(*number), *number};
}

base::Cell percent_cell(std::optional<double> share) {
  if (!share) return kNotMeasured;
  return {terminal::fixed(100.0 * *share, 1) + " %", *share};
}

base::Cell ratio_cell(std::optional<double> ratio, int decimals) {
  if (!ratio) return kNotMeasured;
  return {terminal::fixed(*ratio, decimals) + "x", *ratio};
}

std::optional<double> quotient(std::optional<double> a, std::optional<double> b) {
  if (!a || !b) return std::nullopt;
  return *a / *b;
}

template <typename Row>
bool any_python(std::span<const Row> rows) {
  return std::ranges::any_of(rows, [](const Row& row) { return row.python.has_value(); });
}

}  // namespace

double StepTimes::monitor() const {
  return watched && monitor_every > 0 ? (*watched - unwatched) / static_cast<double>(monitor_every) : 0.0;
}

std::optional<double> StepTimes::engine_with_workers() const {
  if (!unwatched_with_workers) return std::nullopt;
  return *unwatched_with_workers + monitor();
}

base::Table step_table(std::span<const StepTimes> rows, int workers) {
  const bool has_python = any_python(rows);
  base::Table table{.columns = {{"formulation", base::Align::left},
                                "engine ms",
                                "bare ms",
                                "overhead",
                                "of it monitor",
                                "optimiser",
                                "load ms"}};
  if (workers > 0) {
    table.columns.emplace_back("engine, " + std::to_string(workers) + (workers == 1 ? " worker" : " workers"));
    table.columns.emplace_back("speed-up");
  }
  if (has_python) {
    table.columns.emplace_back("Python ms");
    table.columns.emplace_back("vs Python");
  }
  for (const auto& row : rows) {
    std::vector<base::Cell> cells = {
        row.formulation,
        number_cell(row.engine()),
        number_cell(row.bare),
        percent_cell(row.overhead()),
        percent_cell(row.watched ? std::optional(row.monitor() / row.unwatched) : std::nullopt),
        percent_cell(quotient(row.update, row.bare)),
        number_cell(row.load)};
    if (workers > 0) {
      cells.push_back(number_cell(row.engine_with_workers()));
      cells.push_back(ratio_cell(quotient(row.engine(), row.engine_with_workers()), 2));
    }
    if (has_python) {
      cells.push_back(number_cell(row.python));
      cells.push_back(ratio_cell(quotient(row.python, row.engine()), 2));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

std::string step_json(std::span<const StepTimes> rows, int workers) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    nlohmann::ordered_json json = {{"formulation", row.formulation},
                                   {"engine_ms", row.engine()},
                                   {"bare_ms", row.bare},
                                   {"load_ms", row.load},
                                   {"overhead", row.overhead()},
                                   {"monitor_share", row.monitor() / row.unwatched},
                                   {"relative_spread", row.relative_spread}};
    if (row.update) json["optimiser_share"] = *row.update / row.bare;
    if (const auto with_workers = row.engine_with_workers()) {
      json["workers"] = workers;
      json["engine_workers_ms"] = *with_workers;
    }
    if (row.python) {
      json["python_ms"] = *row.python;
    } else {
      json["python_missing"] = row.python_problem;
    }
    array.push_back(std::move(json));
  }
  return array.dump(2) + "\n";
}

base::Table packed_table(std::span<const PackedRate> rates, int threads) {
  base::Table table{
      .columns = {
          {"formulation", base::Align::left}, "ours per s", "Python per s", "ours s/core", "Python s/core", "ratio"}};
  const auto of_a_core = [threads](std::optional<double> rate) {
    return number_cell(quotient(static_cast<double>(threads), rate));
  };
  for (const auto& rate : rates) {
    table.add_row({rate.formulation, number_cell(rate.ours), number_cell(rate.python), of_a_core(rate.ours),
                   of_a_core(rate.python), ratio_cell(quotient(rate.ours, rate.python), 0)});
  }
  return table;
}

std::string packed_json(std::span<const PackedRate> rates) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& rate : rates) {
    nlohmann::ordered_json json = {{"formulation", rate.formulation}, {"ours_per_second", rate.ours}};
    if (rate.python) {
      json["python_per_second"] = *rate.python;
    } else {
      json["python_missing"] = rate.python_problem;
    }
    array.push_back(std::move(json));
  }
  return array.dump(2) + "\n";
}

}  // namespace quest::bench
