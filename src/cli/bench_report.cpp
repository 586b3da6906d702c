#include "cli/bench_report.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "cli/measure.h"

namespace quest::cli {
namespace {

constexpr double kNoisySpread = 0.15;

std::string ratio_text(double ratio) { return fixed(ratio, 2) + "x"; }

// Short enough for a line of the table to fit a terminal.
std::string short_pass_name(Pass pass) { return pass == Pass::forward ? "fwd" : "fwd+bwd"; }

std::string gflops_text(const BenchRow& row, double milliseconds) {
  return three_digits(attention_flops(row.shape, row.pass) / milliseconds * 1e-6);
}

std::vector<std::string> cells(const BenchRow& row) {
  return {row.shape.name,
          dims_text(row.shape),
          short_pass_name(row.pass),
          three_digits(row.ours_ms),
          three_digits(row.torch_standard_ms),
          three_digits(row.torch_quest_ms),
          gflops_text(row, row.ours_ms),
          gflops_text(row, row.torch_standard_ms),
          gflops_text(row, row.torch_quest_ms),
          ratio_text(row.torch_standard_ms / row.ours_ms),
          ratio_text(row.torch_quest_ms / row.ours_ms)};
}

void add_geometric_mean(Table& table, std::span<const BenchRow> rows, Pass pass) {
  std::vector<double> over_standard;
  std::vector<double> over_quest;
  for (const auto& row : rows) {
    if (row.pass != pass) continue;
    over_standard.push_back(row.torch_standard_ms / row.ours_ms);
    over_quest.push_back(row.torch_quest_ms / row.ours_ms);
  }
  if (over_quest.empty()) return;
  table.add_row({"geometric mean", "", short_pass_name(pass), "", "", "", "", "", "",
                 ratio_text(geometric_mean(over_standard)), ratio_text(geometric_mean(over_quest))});
}

}  // namespace

std::string bench_table(std::span<const BenchRow> rows, TableStyle style) {
  Table table({{"shape", Align::left},
               {"B,H,N,D", Align::left},
               {"pass", Align::left},
               {"ours ms"},
               {"torch std"},
               {"torch QUEST"},
               {"GFLOP/s"},
               {"std"},
               {"QUEST"},
               {"vs std"},
               {"vs QUEST"}});
  for (const auto& row : rows) table.add_row(cells(row));
  table.add_rule();
  for (const Pass pass : {Pass::forward, Pass::forward_backward}) add_geometric_mean(table, rows, pass);
  return table.render(style);
}

std::string bench_json(std::span<const BenchRow> rows) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    array.push_back({{"shape", row.shape.name},
                     {"pass", pass_name(row.pass)},
                     {"ours_ms", row.ours_ms},
                     {"torch_standard_ms", row.torch_standard_ms},
                     {"torch_quest_ms", row.torch_quest_ms}});
  }
  return array.dump(2) + "\n";
}

std::string noise_warning(std::span<const BenchRow> rows) {
  std::string names;
  for (const auto& row : rows) {
    if (row.relative_spread <= kNoisySpread) continue;
    names += (names.empty() ? "" : ", ") + row.shape.name + " " + std::string(pass_name(row.pass));
  }
  if (names.empty()) return "";
  return "The machine was not quiet: the middle half of the samples spreads over more than " +
         fixed(100.0 * kNoisySpread, 0) + " % of the median for " + names +
         ". Run again with nothing else running before trusting these rows.";
}

}  // namespace quest::cli
