// `quest demo`: what the paper is about, in a few seconds.

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "app/sweep.h"
#include "app/versions.h"
#include "bench/attention_contest.h"
#include "bench/bench_report.h"
#include "cli/commands.h"
#include "cli/experiment_runs.h"
#include "cli/experiment_text.h"
#include "cli/key_growth.h"
#include "domains/domain.h"
#include "paper/sweep.h"
#include "terminal/progress.h"
#include "terminal/table.h"
#include "terminal/terminal.h"

namespace quest::cli {
namespace {

constexpr std::array<double, 4> kNorms = {1.0, 10.0, 100.0, 1000.0};
constexpr int kMassBarCells = 20;
constexpr int kTimeBarCells = 32;
constexpr double kSecondsPerShape = 1.0;
constexpr double kStolen = 0.5;  // a key that nobody looks for and that takes more than half has stolen the attention

std::string percent(double fraction) { return terminal::fixed(100.0 * fraction, 1) + " %"; }

void print_introduction(const terminal::TerminalStyle& style) {
  std::cout << terminal::paint("One key grows", terminal::Color::bold, style) << "\n\n"
            << kGrowthQueries << " queries look for one key each (cosine " << terminal::fixed(kGrowthMatchCosine, 2)
            << ") among " << kGrowthKeys << " keys of dimension " << kGrowthDim << " and norm "
            << terminal::fixed(std::sqrt(static_cast<double>(kGrowthDim)), 0) << ".\n"
            << "The last key is nobody's match (cosine " << terminal::fixed(kGrowthStrangerCosine, 2)
            << " with every query). Its norm grows, its direction stays.\n\n";
}

std::string reading_cells(const AttentionReading& reading, const terminal::TerminalStyle& style) {
  const terminal::Color color = reading.mass > kStolen ? terminal::Color::red : terminal::Color::green;
  return terminal::paint(terminal::bar(reading.mass, kMassBarCells, style), color, style) +
         terminal::pad(percent(reading.mass), 8, base::Align::right) +
         terminal::pad(terminal::fixed(reading.entropy, 2), 9, base::Align::right) +
         terminal::pad(terminal::fixed(reading.max_logit, 1), 11, base::Align::right);
}

void print_table(std::span<const KeyGrowth> growth, const terminal::TerminalStyle& style) {
  constexpr std::size_t kPanel = kMassBarCells + 8 + 9 + 11;
  const std::string panel =
      terminal::pad("attention on that key", kMassBarCells + 8, base::Align::left) + "  entropy  max logit";
  std::cout << terminal::pad("", 10, base::Align::left)
            << terminal::paint(terminal::pad("standard: softmax(q.k / sqrt(d))", kPanel, base::Align::left),
                               terminal::Color::bold, style)
            << "    " << terminal::paint("QUEST: softmax(q.k / |k|)", terminal::Color::bold, style) << "\n"
            << "key norm  " << panel << "    " << panel << "\n";
  for (const auto& row : growth) {
    std::cout << terminal::pad(terminal::fixed(row.key_norm, 0), 8, base::Align::right) << "  "
              << reading_cells(row.standard, style) << "    " << reading_cells(row.quest, style) << "\n";
  }
}

void print_first_query(std::span<const KeyGrowth> growth, const terminal::TerminalStyle& style) {
  constexpr float kFull = 1.0F;
  const std::string marks = "^" + std::string(kGrowthKeys - 2, ' ') + "^";
  const std::string legend = terminal::pad("its match", kGrowthKeys - 8, base::Align::left) + "that key";
  std::cout << "\nThe first query, key by key (height = attention):\n"
            << "key norm  " << terminal::pad("standard", kGrowthKeys, base::Align::left) << "    QUEST\n";
  for (const auto& row : growth) {
    std::cout << terminal::pad(terminal::fixed(row.key_norm, 0), 8, base::Align::right) << "  "
              << terminal::sparkline(row.standard.first_query, kFull, style) << "    "
              << terminal::sparkline(row.quest.first_query, kFull, style) << "\n";
  }
  std::cout << terminal::pad("", 10, base::Align::left) << marks << "    " << marks << "\n"
            << terminal::pad("", 10, base::Align::left) << legend << "    " << legend << "\n";
}

std::string small_number(double value) {
  if (value == 0.0) return "0";
  const int exponent = static_cast<int>(std::floor(std::log10(value)));
  if (exponent >= -3) return terminal::three_digits(value);
  return terminal::fixed(value / std::pow(10.0, exponent), 1) + "e" + std::to_string(exponent);
}

void print_conclusion(const KeyGrowth& last) {
  std::cout << "\nFrom norm " << terminal::fixed(kNorms.front(), 0) << " to " << terminal::fixed(kNorms.back(), 0)
            << " the attention matrix moved by " << percent(last.standard.change) << " of its own norm under standard\n"
            << "attention and by " << small_number(last.quest.change)
            << " under QUEST (float32 rounding is 6e-8). At norm "
            << terminal::fixed(std::sqrt(static_cast<double>(kGrowthDim)), 0) << " = sqrt(d) the two are\n"
            << "the same function; beyond it one key takes every query from its match.\n";
}

std::array<bench::AttentionShape, 2> demo_shapes() {
  auto vision = bench::parse_named_shape("vit-ti=4,3,197,64");
  auto language = bench::parse_named_shape("lm-small=16,8,256,16,causal");
  return {std::move(vision), std::move(language)};
}

void print_time(const std::string& who, double milliseconds, double slowest, double ours,
                const terminal::TerminalStyle& style) {
  const bool is_ours = milliseconds == ours;
  std::cout << "  " << terminal::pad(who, 16, base::Align::left)
            << terminal::paint(terminal::bar(milliseconds / slowest, kTimeBarCells, style),
                               is_ours ? terminal::Color::green : terminal::Color::plain, style)
            << terminal::pad(terminal::three_digits(milliseconds) + " ms", 11, base::Align::right);
  if (!is_ours) std::cout << terminal::pad(terminal::fixed(milliseconds / ours, 2) + "x", 9, base::Align::right);
  std::cout << "\n";
}

void print_times(const bench::BenchRow& row, const terminal::TerminalStyle& style) {
  const double slowest = std::max({row.ours_ms, row.torch_standard_ms, row.torch_quest_ms});
  std::cout << "\n" << row.shape.name << " (B,H,N,D = " << bench::dims_text(row.shape) << ")\n";
  print_time("quest", row.ours_ms, slowest, row.ours_ms, style);
  print_time("torch standard", row.torch_standard_ms, slowest, row.ours_ms, style);
  print_time("torch QUEST", row.torch_quest_ms, slowest, row.ours_ms, style);
}

void print_speed(const terminal::TerminalStyle& style) {
  std::cout << "\n"
            << terminal::paint("Speed, forward + backward", terminal::Color::bold, style) << " (" << app::setting_line()
            << ", float32; x = time of torch / time of ours)\n"
            << std::flush;
  const auto shapes = demo_shapes();
  std::vector<bench::BenchRow> rows;
  terminal::Progress progress(std::cerr, terminal::standard_error_is_terminal());
  for (const auto& shape : shapes) {
    const bench::AttentionContest contest(shape, {});
    contest.check_agreement();
    const auto on_progress = [&](double part) {
      progress.update((static_cast<double>(rows.size()) + part) / static_cast<double>(shapes.size()), shape.name);
    };
    rows.push_back(contest.measure(bench::Pass::forward_backward, {.budget_seconds = kSecondsPerShape}, on_progress));
    progress.clear();
    print_times(rows.back(), style);
  }
  if (const auto warning = bench::noise_warning(rows); !warning.empty()) std::cout << "\n" << warning << "\n";
}

void print_next_steps(const terminal::TerminalStyle& style) {
  std::cout << "\n"
            << terminal::paint("Next", terminal::Color::bold, style) << "\n"
            << "  README.md              ten lines of C++, ten lines of Python\n"
            << "  docs/formulations.md   the formula and its eight variants\n"
            << "  quest demo --train     a small experiment of the paper, trained here: about a minute\n"
            << "  quest paper            every table and figure of the paper, and which of them run here\n"
            << "  quest bench attention  the full speed table\n"
            << "  quest info             what this machine runs, and why\n";
}

void run_demo() {
  const auto style = terminal::standard_output_style();
  const auto growth = grow_one_key(kNorms);
  print_introduction(style);
  print_table(growth, style);
  print_first_query(growth, style);
  print_conclusion(growth.back());
  print_speed(style);
  print_next_steps(style);
}

// The small versions of the experiments that domains name for it.
void train_demonstrations(const std::filesystem::path& runs) {
  constexpr bool kSmall = true;
  std::size_t failed = 0;
  std::size_t left_out = 0;
  for (const auto& domain : domains::all()) {
    if (domain.demonstration.empty()) continue;
    const auto& experiment = find_experiment(std::string(domain.demonstration));
    app::SweepOptions options;
    options.folder = experiment_folder(experiment, runs, kSmall);
    std::cout << experiment.summary << ".\n" << std::flush;
    failed += app::run_sweep(paper::planned_runs(experiment.small), options);
    std::cout << "\n";
    const auto known = known_runs(experiment, runs, kSmall);
    const auto comparisons = comparisons_of(experiment, known.runs);
    print_experiment(experiment, known, comparisons, terminal::TableStyle::text);
    left_out += comparisons.problems.size();
  }
  if (failed > 0) throw std::runtime_error(std::to_string(failed) + " runs failed, as told above");
  require_none_left_out(left_out);
}

}  // namespace

void add_demo_command(CLI::App& program) {
  struct DemoCommand {
    bool train = false;
    std::string runs = "runs";
  };
  auto* command =
      program.add_subcommand("demo", "What a growing key does to attention, and how fast this is: a few seconds");
  const auto state = std::make_shared<DemoCommand>();
  command->add_flag("--train", state->train, "Instead train a small experiment of the paper: about a minute");
  command->add_option("--runs", state->runs, "Where the run folders of --train go")
      ->capture_default_str()
      ->type_name("FOLDER");
  command->callback([state] { state->train ? train_demonstrations(state->runs) : run_demo(); });
}

}  // namespace quest::cli
