#include "paper/experiment.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>

#include "paper/number_text.h"
#include "paper/strict_table.h"

namespace quest::paper {
namespace {

using enum State;

constexpr std::array kStates = {full_size, small_version, data_needed, not_yet, nothing_to_run};
constexpr int kMostDecimals = 12;

// As a recipe's file has it, texts without quotes.
std::string value_text(const StrictTable& table, const std::string& key, const TomlNode& node) {
  if (const auto* list = node.list()) {
    std::string text;
    for (const auto& item : *list) {
      if (item.scalar() == nullptr) table.fail(key, "expected a list of single values, got in it a list or a table");
      text += (text.empty() ? "" : ", ") + description_of(item);
    }
    return "[" + text + "]";
  }
  const auto* words = std::get_if<std::string>(node.scalar());
  return words != nullptr ? *words : description_of(node);
}

std::optional<Match> read_match(StrictTable& table, const std::string& key) {
  const auto leaves = table.leaves(key);
  if (!leaves) return std::nullopt;
  Match match;
  for (const auto& leaf : *leaves) match.emplace_back(leaf.key, value_text(table, key, *leaf.node));
  return match;
}

std::vector<Axis> read_axes(StrictTable& table) {
  std::vector<Axis> axes;
  const auto leaves = table.leaves("axes");
  if (!leaves) return axes;
  for (const auto& [key, node] : *leaves) {
    const auto fail = [&](const std::string& problem) {
      throw recipe::RecipeError(node->place + ": axes." + key + ": " + problem);
    };
    if (node->list() == nullptr) fail("expected a list of values, got " + description_of(*node));
    Axis axis{.key = key, .values = {}};
    for (const auto& item : *node->list()) {
      if (item.scalar() == nullptr) fail("expected a list of single values, got in it " + description_of(item));
      auto value = value_text(table, "axes", item);
      if (std::ranges::find(axis.values, value) != axis.values.end())
        fail("expected different values, got " + value + " twice");
      axis.values.push_back(std::move(value));
    }
    if (axis.values.empty()) fail("expected at least one value, got none");
    axes.push_back(std::move(axis));
  }
  return axes;
}

Grid read_grid(StrictTable table) {
  Grid grid;
  grid.place = table.place();
  grid.recipe = table.required_text("recipe");
  grid.axes = read_axes(table);
  grid.set = read_match(table, "set").value_or(Match{});
  grid.seeds = table.integer("seeds", 1).value_or(1);
  grid.evaluations = table.texts("evaluations").value_or(std::vector<std::string>{});
  table.check_keys();
  for (const auto& axis : grid.axes) {
    const bool is_set = std::ranges::find(grid.set, axis.key, &Match::value_type::first) != grid.set.end();
    if (is_set) table.fail("set", "expected keys that are no axes, got " + axis.key);
    if (axis.key == "seed") table.fail("axes", "expected no axis \"seed\": `seeds` says how many there are");
  }
  return grid;
}

State read_state(StrictTable& table) {
  const auto name = table.required_text("state");
  std::string names;
  for (const State state : kStates) {
    if (state_name(state) == name) return state;
    names += (names.empty() ? "" : ", ") + std::string(state_name(state));
  }
  if (!name.empty()) table.fail("state", "expected one of " + names + ", got \"" + name + "\"");
  return not_yet;  // missing: check_keys() tells it
}

std::optional<int> read_decimals(StrictTable& table) {
  const auto decimals = table.integer("decimals", 0);
  if (!decimals) return std::nullopt;
  if (*decimals > kMostDecimals) {
    table.fail("decimals", "expected at most " + std::to_string(kMostDecimals) + ", got " + std::to_string(*decimals));
  }
  return static_cast<int>(*decimals);
}

Line read_line(StrictTable& table) {
  Line line;
  line.title = table.required_text("title");
  line.match = read_match(table, "match");
  line.match_place = table.place_of("match");
  line.metric = table.text("metric").value_or("");
  line.metric_place = table.place_of("metric");
  line.factor = table.number("factor");
  line.decimals = read_decimals(table);
  line.higher_is_better = table.flag("higher_is_better");
  return line;
}

bool names_metric(const Line& line) {
  return !line.metric.empty() || line.factor || line.decimals || line.higher_is_better;
}

// Of results: a number, one with its spread, or words like "crashed". Other tables may say anything.
std::optional<Number> read_number(const StrictTable& row, const std::string& text, bool is_result) {
  if (text.empty()) return std::nullopt;
  auto number = number_of(text);
  const bool is_word = std::isalpha(static_cast<unsigned char>(text.front())) != 0;
  if (is_result && !number.value && !is_word) {
    row.fail("numbers", "expected \"1.5\", \"1.5 ± 0.1\", \"~1.5\", words or \"\", got \"" + text + "\"");
  }
  return number;
}

void require_new(const StrictTable& table, const std::string& key, std::set<std::string>& known,
                 const std::string& text) {
  if (!known.insert(text).second) table.fail(key, "expected one of its own, got \"" + text + "\" for a second time");
}

void read_columns(StrictTable& table, Item& item) {
  std::set<std::string> titles;
  for (auto& column : table.tables("columns")) {
    item.columns.push_back(read_line(column));
    column.check_keys();
    require_new(column, "title", titles, item.columns.back().title);
  }
}

void read_rows(StrictTable& table, Item& item) {
  std::set<std::string> titles;
  for (auto& row : table.tables("rows")) {
    item.rows.push_back(read_line(row));
    const auto texts = row.texts("numbers");
    row.check_keys();
    require_new(row, "title", titles, item.rows.back().title);
    if (!texts) continue;
    if (texts->size() != item.columns.size()) {
      row.fail("numbers", "expected " + std::to_string(item.columns.size()) + ", one a column (\"\" for none), got " +
                              std::to_string(texts->size()));
    }
    auto& numbers = item.numbers.emplace_back();
    for (const auto& text : *texts) numbers.push_back(read_number(row, text, !item.metric_name.empty()));
    if (item.numbers.size() != item.rows.size()) row.fail("numbers", "expected in every row or in none");
  }
  if (!item.numbers.empty() && item.numbers.size() != item.rows.size()) {
    table.fail("rows", "expected numbers in every row or in none, got them in " + std::to_string(item.numbers.size()) +
                           " of " + std::to_string(item.rows.size()));
  }
}

void check_lines(const StrictTable& table, const Item& item) {
  if (item.rows.empty() != item.columns.empty()) {
    table.fail("rows", "expected both rows and columns or neither, got " + std::to_string(item.rows.size()) + " and " +
                           std::to_string(item.columns.size()));
  }
  if (std::ranges::any_of(item.rows, names_metric) && std::ranges::any_of(item.columns, names_metric)) {
    table.fail("rows", "expected metric, factor, decimals and higher_is_better in rows or in columns, got both");
  }
  for (const Line& row : item.rows) {
    for (const Line& column : item.columns) {
      if (!row.match || !column.match || !(item.metric + row.metric + column.metric).empty()) continue;
      table.fail("metric", "expected one, as runs match row \"" + row.title + "\" and column \"" + column.title + "\"");
    }
  }
}

void require_line(const StrictTable& headline, const std::string& key, const std::string& title,
                  const std::vector<Line>& lines, const std::string& kind) {
  if (title.empty() || std::ranges::find(lines, title, &Line::title) != lines.end()) return;
  std::string titles;
  for (const Line& line : lines) titles += (titles.empty() ? "\"" : ", \"") + line.title + "\"";
  headline.fail(key, "expected the title of a " + kind + ", one of " + titles + "; got \"" + title + "\"");
}

std::optional<Item::Headline> read_headline(StrictTable& table, const Item& item) {
  auto headline = table.table("headline");
  if (!headline) return std::nullopt;
  Item::Headline result{.name = headline->required_text("name"),
                        .row = headline->text("row").value_or(""),
                        .column = headline->text("column").value_or(""),
                        .quest = headline->text("quest").value_or(""),
                        .standard = headline->text("standard").value_or("")};
  headline->check_keys();
  if (!result.row.empty() && !result.column.empty()) {
    headline->fail("column", "expected a row, whose columns quest and standard name, or a column, got both");
  }
  if (result.row.empty() && result.column.empty() && !item.has_means) {
    headline->fail("row", "expected a row, a column, or an item with has_means = true, got none of these");
  }
  if (result.quest.empty() && result.standard.empty()) {
    headline->fail("quest", "expected quest, standard or both, got neither");
  }
  require_line(*headline, "row", result.row, item.rows, "row");
  require_line(*headline, "column", result.column, item.columns, "column");
  const bool is_of_column = !result.column.empty();
  for (const auto& [key, title] : {std::pair("quest", result.quest), std::pair("standard", result.standard)}) {
    require_line(*headline, key, title, is_of_column ? item.rows : item.columns, is_of_column ? "row" : "column");
  }
  return result;
}

Item read_item(StrictTable& table) {
  Item item;
  item.label = table.required_text("label");
  item.shows = table.required_text("shows");
  item.state = read_state(table);
  item.tex = table.text("tex").value_or("");
  item.metric = table.text("metric").value_or("");
  item.metric_place = table.place_of("metric");
  item.metric_name = table.text("metric_name").value_or("");
  item.factor = table.number("factor").value_or(item.factor);
  item.decimals = read_decimals(table).value_or(item.decimals);
  item.higher_is_better = table.flag("higher_is_better").value_or(item.higher_is_better);
  item.has_means = table.flag("has_means").value_or(item.has_means);
  read_columns(table, item);
  read_rows(table, item);
  item.headline = read_headline(table, item);
  table.check_keys();
  check_lines(table, item);
  return item;
}

std::vector<Grid> read_grids(StrictTable& file, const std::string& key) {
  std::vector<Grid> grids;
  for (const auto& table : file.tables(key)) grids.push_back(read_grid(table));
  return grids;
}

}  // namespace

std::string_view state_name(State state) {
  switch (state) {
    case full_size:
      return "full size";
    case small_version:
      return "small version";
    case data_needed:
      return "data needed";
    case nothing_to_run:
      return "nothing to run";
    case not_yet:
      break;
  }
  return "not yet";
}

std::string_view state_meaning(State state) {
  switch (state) {
    case full_size:
      return "runs here as in the paper";
    case small_version:
      return "a smaller version runs here";
    case data_needed:
      return "the recipe is ready and needs data that is not here";
    case nothing_to_run:
      return "a drawing, or settings that recipes hold";
    case not_yet:
      break;
  }
  return "not part of this program yet";
}

Experiment parse_experiment(const std::string& name, std::string_view toml, const std::string& place) {
  const auto tree = toml_tree(toml, place);
  StrictTable file(tree, "");
  Experiment experiment;
  experiment.name = name;
  experiment.title = file.required_text("title");
  experiment.summary = file.required_text("summary");
  experiment.split = file.text("split").value_or("");
  experiment.split_place = file.place_of("split");
  experiment.sweep = read_grids(file, "sweep");
  experiment.small = read_grids(file, "small");
  std::set<std::string> labels;
  for (auto& table : file.tables("item")) {
    experiment.items.push_back(read_item(table));
    require_new(table, "label", labels, experiment.items.back().label);
  }
  file.check_keys();
  return experiment;
}

}  // namespace quest::paper
