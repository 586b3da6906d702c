#pragma once

// Ours beside a table of the paper.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/table.h"
#include "paper/experiment.h"
#include "paper/runs.h"

namespace quest::paper {

struct Ours {
  std::vector<double> values;  // one a run, in the paper's unit; never empty
  double mean = 0.0;
  double deviation = 0.0;  // of a sample, over n - 1; 0 for one run
};

struct ComparedCell {
  std::optional<Ours> ours;
  std::optional<Number> paper;
  std::size_t crashed = 0;  // runs of this cell that diverged, beside the values of `ours`
  int decimals = 2;
  bool higher_is_better = true;
};

struct Comparison {
  struct Row {
    std::string title;
    std::string split;  // the value of the experiment's split; empty where we have nothing
    std::vector<ComparedCell> cells;
  };
  const Item* item = nullptr;
  std::string split;  // its key
  std::vector<std::string> columns;
  std::vector<Row> rows;
  // One for each value of the split that has rows with ours and the paper's in all columns. `ours` are the means over
  // those rows, a value a row and without deviation; `paper` are the paper's over the same rows.
  std::vector<Row> means;
};

// Runs of the experiment's recipes that may stand in one table: those of one recipe agree in every key that its sweep
// does not vary (where data lies aside). Those that differ from most others are problems, with the key and both values.
[[nodiscard]] Runs runs_of_experiment(const Experiment& experiment, Runs runs);

// Throws std::runtime_error for a metric that a matching run's evaluation was expected to write and none did; it names
// file and key, and the metrics there are. An evaluation that is still to be done is none of that. So it does for a key
// of a match or split that no run has, and names the nearest one; as long as recipes are without runs it may be theirs.
[[nodiscard]] Comparison compare(const Experiment& experiment, const Item& item, std::span<const Run> runs);

[[nodiscard]] base::Table table_of(const Comparison& comparison);

// The item's headline: the paper's pair and ours, quest / standard; empty texts where there is none.
struct HeadlineTexts {
  std::string name;
  std::string paper;
  std::string ours;
};
[[nodiscard]] HeadlineTexts headline(const Comparison& comparison);

// {"label", "shows", "state", "metric", "split", "rows": [ROW], "means": [ROW], "headline"} with each ROW as {"title",
// "split", "cells": [{"column", "paper": {"text", "value", "spread"}, "ours": {"mean", "deviation", "values"},
// "crashed"}]}; what there is not is null.
[[nodiscard]] nlohmann::ordered_json to_json(const Comparison& comparison);

}  // namespace quest::paper
