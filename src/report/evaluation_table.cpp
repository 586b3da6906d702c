#include "report/evaluation_table.h"

#include <algorithm>
#include <vector>

#include "report/charts/table.h"
#include "report/page/page_parts.h"

namespace quest::report {
namespace {

base::Cell found_cell(const EvaluationFiles& files, const std::string& evaluation, const std::string& metric) {
  const auto file = std::ranges::find(files.evaluations, evaluation, &EvaluationFile::name);
  const double* value = file == files.evaluations.end() ? nullptr : file->find(metric);
  return value == nullptr ? base::Cell("–") : number_cell(*value);
}

// In the order in which they first come.
std::vector<std::string> union_of(std::span<const NamedRun> runs, const auto& names_of) {
  std::vector<std::string> names;
  for (const NamedRun& run : runs) {
    for (const EvaluationFile& evaluation : run.run->evaluated.evaluations) {
      for (const std::string& name : names_of(evaluation)) {
        if (std::ranges::find(names, name) == names.end()) names.push_back(name);
      }
    }
  }
  return names;
}

}  // namespace

std::string evaluation_table(std::span<const NamedRun> runs) {
  const auto evaluations =
      union_of(runs, [](const EvaluationFile& evaluation) { return std::vector{evaluation.name}; });
  const auto metrics = union_of(runs, [](const EvaluationFile& evaluation) {
    std::vector<std::string> names;
    for (const auto& [name, value] : evaluation.metrics) names.push_back(name);
    return names;
  });
  if (metrics.empty()) return "";
  const bool alone = runs.size() == 1;
  base::Table table{.caption = "What every evaluation found, by name", .columns = {"metric"}};
  if (!alone) table.columns.emplace_back("run");
  for (const std::string& evaluation : evaluations) table.columns.emplace_back(evaluation);
  for (const std::string& metric : metrics) {
    if (!alone && !table.rows.empty()) table.add_rule();
    for (const NamedRun& run : runs) {
      std::vector<base::Cell> row = {metric};
      if (!alone) row.emplace_back(run.name);
      for (const std::string& name : evaluations) row.push_back(found_cell(run.run->evaluated, name, metric));
      table.add_row(std::move(row));
    }
  }
  return card(table_html(table));
}

}  // namespace quest::report
