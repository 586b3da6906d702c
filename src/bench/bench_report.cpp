#include "bench/bench_report.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "bench/measure.h"

namespace quest::bench {
namespace {

constexpr double kNoisySpread = 0.15;

std::string ratio_text(double ratio) { return terminal::fixed(ratio, 2) + "x"; }

// Short enough for a line of the table to fit a terminal.
std::string short_pass_name(Pass pass) { return pass == Pass::forward ? "fwd" : "fwd+bwd"; }

std::string gflops_text(const BenchRow& row, double milliseconds) {
  return terminal::three_digits(attention_flops(row.shape, row.pass) / milliseconds * 1e-6);
}

std::vector<base::Cell> cells(const BenchRow& row) {
  return {row.shape.name,
          dims_text(row.shape),
          short_pass_name(row.pass),
          terminal::three_digits(row.ours_ms),
          terminal::three_digits(row.torch_standard_ms),
          terminal::three_digits(row.torch_quest_ms),
          gflops_text(row, row.ours_ms),
          gflops_text(row, row.torch_standard_ms),
          gflops_text(row, row.torch_quest_ms),
          ratio_text(row.torch_standard_ms / row.ours_ms),
          ratio_text(row.torch_quest_ms / row.ours_ms)};
}

std::string time_text(double milliseconds) {
  return std::isfinite(milliseconds) ? terminal::three_digits(milliseconds) : "-";
}

std::string floor_text(const BenchRow& row, double element_bytes, const Ceilings& ceilings) {
  if (ceilings.flops_per_second == 0.0) return "-";
  return terminal::three_digits(
      1e3 * std::max(attention_flops(row.shape, row.pass) / ceilings.flops_per_second,
                     attention_bytes(row.shape, row.pass, element_bytes) / ceilings.bytes_per_second));
}

std::vector<base::Cell> gpu_cells(const BenchRow& row, double element_bytes, const Ceilings& ceilings) {
  std::vector<base::Cell> result = {row.shape.name, dims_text(row.shape), short_pass_name(row.pass),
                                    terminal::three_digits(row.ours_ms)};
  for (const auto& backend : row.backends) {
    result.emplace_back(time_text(backend.standard_ms));
    result.emplace_back(time_text(backend.quest_ms));
  }
  result.emplace_back(time_text(row.compiled_quest_ms));
  const double seconds = row.ours_ms * 1e-3;
  for (const auto& text :
       {terminal::three_digits(attention_flops(row.shape, row.pass) / seconds * 1e-12),
        terminal::three_digits(attention_bytes(row.shape, row.pass, element_bytes) / seconds * 1e-12),
        floor_text(row, element_bytes, ceilings), ratio_text(row.torch_standard_ms / row.ours_ms),
        ratio_text(row.torch_quest_ms / row.ours_ms)}) {
    result.emplace_back(text);
  }
  return result;
}

// The means of the last two columns.
void add_geometric_mean(base::Table& table, std::span<const BenchRow> rows, Pass pass) {
  std::vector<double> over_standard;
  std::vector<double> over_quest;
  for (const auto& row : rows) {
    if (row.pass != pass) continue;
    over_standard.push_back(row.torch_standard_ms / row.ours_ms);
    over_quest.push_back(row.torch_quest_ms / row.ours_ms);
  }
  if (over_quest.empty()) return;
  const std::size_t columns = table.columns.size();
  std::vector<base::Cell> result(columns, "");
  result[0] = "geometric mean";
  result[2] = short_pass_name(pass);
  result[columns - 2] = ratio_text(geometric_mean(over_standard));
  result[columns - 1] = ratio_text(geometric_mean(over_quest));
  table.add_row(std::move(result));
}

std::string finished(base::Table& table, std::span<const BenchRow> rows, terminal::TableStyle style) {
  table.add_rule();
  for (const Pass pass : {Pass::forward, Pass::forward_backward}) add_geometric_mean(table, rows, pass);
  return terminal::render(table, style);
}

}  // namespace

Ceilings ceilings_of(std::string_view gpu_name) {
  if (gpu_name.find("H200") == std::string_view::npos) return {};
  return {.flops_per_second = 790e12, .bytes_per_second = 4.3e12};
}

std::string bench_table(std::span<const BenchRow> rows, terminal::TableStyle style) {
  base::Table table{.columns = {{"shape", base::Align::left},
                                {"B,H,N,D", base::Align::left},
                                {"pass", base::Align::left},
                                "ours ms",
                                "torch std",
                                "torch QUEST",
                                "GFLOP/s",
                                "std",
                                "QUEST",
                                "vs std",
                                "vs QUEST"}};
  for (const auto& row : rows) table.add_row(cells(row));
  return finished(table, rows, style);
}

std::string gpu_bench_table(std::span<const BenchRow> rows, double element_bytes, const Ceilings& ceilings,
                            terminal::TableStyle style) {
  base::Table table{
      .columns = {
          {"shape", base::Align::left}, {"B,H,N,D", base::Align::left}, {"pass", base::Align::left}, "ours ms"}};
  for (const auto& backend : rows.front().backends) {
    table.columns.emplace_back(backend.name + " std");
    table.columns.emplace_back(backend.name + " QUEST");
  }
  for (const char* title : {"compiled QUEST", "TFLOP/s", "TB/s", "floor ms", "vs std", "vs QUEST"}) {
    table.columns.emplace_back(title);
  }
  for (const auto& row : rows) table.add_row(gpu_cells(row, element_bytes, ceilings));
  return finished(table, rows, style);
}

std::string bench_json(std::span<const BenchRow> rows) {
  auto array = nlohmann::ordered_json::array();
  for (const auto& row : rows) {
    nlohmann::ordered_json object = {{"shape", row.shape.name},
                                     {"pass", pass_name(row.pass)},
                                     {"ours_ms", row.ours_ms},
                                     {"torch_standard_ms", row.torch_standard_ms},
                                     {"torch_quest_ms", row.torch_quest_ms}};
    for (const auto& backend : row.backends) {
      const auto key = [&](const char* what) { return std::string("torch_") + what + "_" + backend.name + "_ms"; };
      if (std::isfinite(backend.standard_ms)) object[key("standard")] = backend.standard_ms;
      if (std::isfinite(backend.quest_ms)) object[key("quest")] = backend.quest_ms;
    }
    if (std::isfinite(row.compiled_quest_ms)) object["torch_quest_compiled_ms"] = row.compiled_quest_ms;
    array.push_back(std::move(object));
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
         terminal::fixed(100.0 * kNoisySpread, 0) + " % of the median for " + names +
         ". Run again with nothing else running before trusting these rows.";
}

}  // namespace quest::bench
