#pragma once

// An experiment of the paper as data: which runs it consists of, and every table and figure with the paper's numbers.
// One file each, paper/NAME.toml; docs/adding-a-domain.md says what stands in it.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace quest::paper {

// Keys of recipes and their values, without quotes; "recipe" stands for the recipe's name.
using Match = std::vector<std::pair<std::string, std::string>>;

struct Axis {
  std::string key;
  std::vector<std::string> values;
};

// All combinations of the axes' values, seed by seed.
struct Grid {
  std::string place;  // for messages: "paper/x.toml:4:1: sweep"
  std::string recipe;
  std::vector<Axis> axes;
  Match set;                             // for all of them
  std::int64_t seeds = 1;                // from 0
  std::vector<std::string> evaluations;  // done to each run when it has ended
};

struct Number {
  std::string text;  // as the paper prints it: "73.36", "72.65 ± 0.10", "~0", "crashed"
  std::optional<double> value;
  std::optional<double> spread;
};

// A row or a column. What it says of the metric holds instead of what the item says; in one item, only rows or only
// columns do so.
struct Line {
  std::string title;
  std::optional<Match> match;  // none: nothing here trains it yet
  std::string match_place;     // for messages: "paper/x.toml:12:30: item.columns.match"
  std::string metric;          // "evaluation:metric", or a metric of "best"
  std::string metric_place;    // for messages: "paper/x.toml:12:30: item.columns.metric"
  std::optional<double> factor;
  std::optional<int> decimals;
  std::optional<bool> higher_is_better;
};

enum class State { full_size, small_version, data_needed, not_yet, nothing_to_run };
[[nodiscard]] std::string_view state_name(State state);
[[nodiscard]] std::string_view state_meaning(State state);

// A table or figure.
struct Item {
  std::string label;  // "Table 7"
  std::string shows;
  State state = State::not_yet;
  std::string metric;  // of our runs; empty for what has no number
  std::string metric_place;
  std::string metric_name;  // in words: "test accuracy, %"; empty: the cells are no results
  double factor = 1.0;      // ours times this is in the paper's unit
  int decimals = 2;
  bool higher_is_better = true;
  bool has_means = false;  // a last line of the means over the rows that have all columns
  std::string tex;         // the \label of the paper's table
  std::vector<Line> rows;
  std::vector<Line> columns;
  std::vector<std::vector<std::optional<Number>>> numbers;  // [row][column]; empty where the paper prints none
  // What stands for the item in the overview: two columns of one row, two rows of one column, or, where it names
  // neither, two columns of the means.
  struct Headline {
    std::string name;  // "ViT-S top-1"
    std::string row;
    std::string column;
    std::string quest;  // a column, or a row where `column` is given; empty: there is none
    std::string standard;
  };
  std::optional<Headline> headline;
};

struct Experiment {
  std::string name;  // of the file
  std::string title;
  std::string summary;
  std::string split;  // a key whose values get rows of their own in every table; empty: none
  std::string split_place;
  std::vector<Grid> sweep;
  std::vector<Grid> small;  // the version for the machine at hand
  std::vector<Item> items;
};

// Those compiled into the program, by name. Throws recipe::RecipeError that names file and key, also for a label that
// two of them have.
[[nodiscard]] std::span<const Experiment> experiments();

// `place` is the file's name, for messages. Throws recipe::RecipeError that begins with the place: "paper/x.toml:12:3:
// …".
[[nodiscard]] Experiment parse_experiment(const std::string& name, std::string_view toml, const std::string& place);

}  // namespace quest::paper
