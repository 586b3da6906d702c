#include <algorithm>
#include <nlohmann/json.hpp>

#include "paper/comparison.h"
#include "paper/number_text.h"

namespace quest::paper {
namespace {

using Json = nlohmann::ordered_json;
using Row = Comparison::Row;

constexpr const char* kNone = "-";

std::string ours_text(const ComparedCell& cell) {
  if (!cell.ours) return cell.crashed > 0 ? "crashed (" + std::to_string(cell.crashed) + ")" : kNone;
  const auto& ours = *cell.ours;
  auto text = fixed(ours.mean, cell.decimals);
  if (ours.values.size() > 1) text += std::string(kPlusMinus) + fixed(ours.deviation, cell.decimals);
  text += " (" + std::to_string(ours.values.size()) + ")";
  return cell.crashed > 0 ? text + ", " + std::to_string(cell.crashed) + " crashed" : text;
}

base::Cell table_cell(const std::string& text, const std::optional<double>& value) {
  return value ? base::Cell(text, *value) : base::Cell(text);
}

base::Cell paper_cell(const std::optional<Number>& number) {
  return number ? table_cell(number->text, number->value) : base::Cell(kNone);
}

std::vector<base::Cell> head_cells(const Comparison& comparison, const Row& row) {
  std::vector<base::Cell> cells = {row.title};
  if (!comparison.split.empty()) cells.emplace_back(row.split.empty() ? kNone : row.split);
  return cells;
}

// Of some places in a comparison, the pair for QUEST and for standard attention.
struct Pair {
  const ComparedCell* quest = nullptr;
  const ComparedCell* standard = nullptr;

  [[nodiscard]] bool has_ours() const {
    return std::ranges::any_of(std::array{quest, standard}, [](const ComparedCell* cell) {
      return cell != nullptr && (cell->ours || cell->crashed > 0);
    });
  }
};

template <typename TextOf>
std::string pair_text(const Pair& pair, const TextOf& text_of) {
  const std::string quest = pair.quest == nullptr ? "" : text_of(*pair.quest);
  const std::string standard = pair.standard == nullptr ? "" : text_of(*pair.standard);
  if (quest.empty() && standard.empty()) return "";
  return (quest.empty() ? kNone : quest) + " / " + (standard.empty() ? kNone : standard);
}

std::string paper_pair(const Pair& pair) {
  return pair_text(pair, [](const ComparedCell& cell) {
    if (!cell.paper) return std::string();
    return cell.paper->text.substr(0, cell.paper->text.find(kPlusMinus));
  });
}

std::string our_pair(const Pair& pair) {
  return pair_text(pair, [](const ComparedCell& cell) {
    if (cell.ours) return fixed(cell.ours->mean, cell.decimals);
    return std::string(cell.crashed > 0 ? "crashed" : "");
  });
}

std::size_t column_of(const Comparison& comparison, const std::string& title) {
  return static_cast<std::size_t>(std::ranges::find(comparison.columns, title) - comparison.columns.begin());
}

const ComparedCell* cell_at(const Comparison& comparison, const Row& row, const std::string& column) {
  const auto place = column_of(comparison, column);
  return place < row.cells.size() ? &row.cells[place] : nullptr;
}

Pair columns_pair(const Comparison& comparison, const Row& row) {
  const auto& headline = *comparison.item->headline;
  return {cell_at(comparison, row, headline.quest), cell_at(comparison, row, headline.standard)};
}

// Two rows of a column, of one value of the split.
Pair rows_pair(const Comparison& comparison, const std::string& split) {
  const auto& headline = *comparison.item->headline;
  Pair pair;
  for (const auto& row : comparison.rows) {
    if (row.split != split && !row.split.empty()) continue;  // an empty one has the paper's number alone
    if (row.title == headline.quest) pair.quest = cell_at(comparison, row, headline.column);
    if (row.title == headline.standard) pair.standard = cell_at(comparison, row, headline.column);
  }
  return pair;
}

// For each value of the split, in the order of the rows.
std::vector<Pair> pairs_of(const Comparison& comparison) {
  const auto& headline = *comparison.item->headline;
  std::vector<Pair> pairs;
  for (const auto& row : comparison.rows) {
    if (headline.column.empty() && row.title == headline.row) pairs.push_back(columns_pair(comparison, row));
    const bool is_of_pair = row.title == headline.quest || row.title == headline.standard;
    if (!headline.column.empty() && is_of_pair) pairs.push_back(rows_pair(comparison, row.split));
  }
  return pairs;
}

// The paper's means over all rows for which it has every column, and how many these are.
struct PaperMeans {
  Row row;
  std::size_t rows = 0;
};

PaperMeans paper_means(const Comparison& comparison) {
  const auto& item = *comparison.item;
  PaperMeans means;
  std::vector<double> sums(item.columns.size());
  for (const auto& numbers : item.numbers) {
    if (!std::ranges::all_of(numbers, [](const auto& number) { return number && number->value; })) continue;
    ++means.rows;
    for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += *numbers[i]->value;
  }
  for (const double sum : sums) {
    ComparedCell cell{.ours = std::nullopt, .paper = std::nullopt};
    if (means.rows > 0) cell.paper = Number{.text = fixed(sum / static_cast<double>(means.rows), item.decimals)};
    means.row.cells.push_back(std::move(cell));
  }
  return means;
}

HeadlineTexts headline_of_means(const Comparison& comparison) {
  const auto paper = paper_means(comparison);
  HeadlineTexts texts{
      .name = comparison.item->headline->name, .paper = paper_pair(columns_pair(comparison, paper.row)), .ours = ""};
  if (comparison.means.empty()) return texts;
  const auto& mean = comparison.means.front();
  const auto pair = columns_pair(comparison, mean);
  texts.ours = our_pair(pair);
  const auto rows = mean.cells.front().ours->values.size();
  if (rows < paper.rows) {
    texts.ours += " on " + std::to_string(rows) + " of " + std::to_string(paper.rows) + "; there the paper has " +
                  paper_pair(pair);
  }
  return texts;
}

Json to_json(const std::optional<Number>& number) {
  if (!number) return nullptr;
  const auto or_null = [](const std::optional<double>& value) { return value ? Json(*value) : Json(); };
  return {{"text", number->text}, {"value", or_null(number->value)}, {"spread", or_null(number->spread)}};
}

Json to_json(const std::optional<Ours>& ours) {
  if (!ours) return nullptr;
  return {{"mean", ours->mean}, {"deviation", ours->deviation}, {"values", ours->values}};
}

Json to_json(const Comparison& comparison, const std::vector<Row>& rows) {
  auto list = Json::array();
  for (const auto& row : rows) {
    auto cells = Json::array();
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      const auto& cell = row.cells[i];
      cells.push_back({{"column", comparison.columns[i]},
                       {"paper", to_json(cell.paper)},
                       {"ours", to_json(cell.ours)},
                       {"crashed", cell.crashed}});
    }
    list.push_back(
        {{"title", row.title}, {"split", row.split.empty() ? Json() : Json(row.split)}, {"cells", std::move(cells)}});
  }
  return list;
}

}  // namespace

base::Table table_of(const Comparison& comparison) {
  const auto& item = *comparison.item;
  base::Table table{.caption = item.label + ": " + item.shows};
  if (!item.metric_name.empty()) table.caption += " (" + item.metric_name + ")";
  table.columns.push_back({"", base::Align::left});
  if (!comparison.split.empty()) table.columns.push_back({comparison.split, base::Align::left});
  for (const auto& column : comparison.columns) {
    table.columns.emplace_back(column);
    table.columns.emplace_back("paper");
  }
  for (const auto& row : comparison.rows) {
    auto cells = head_cells(comparison, row);
    for (const auto& cell : row.cells) {
      cells.push_back(table_cell(ours_text(cell), cell.ours ? std::optional(cell.ours->mean) : std::nullopt));
      cells.push_back(paper_cell(cell.paper));
    }
    table.add_row(std::move(cells));
  }
  if (!comparison.means.empty()) table.add_rule();
  for (const auto& mean : comparison.means) {
    auto cells = head_cells(comparison, mean);
    for (const auto& cell : mean.cells) {
      cells.emplace_back(fixed(cell.ours->mean, cell.decimals), cell.ours->mean);
      cells.push_back(paper_cell(cell.paper));
    }
    table.add_row(std::move(cells));
  }
  return table;
}

HeadlineTexts headline(const Comparison& comparison) {
  const auto& item = *comparison.item;
  if (!item.headline) return {};
  if (item.headline->row.empty() && item.headline->column.empty()) return headline_of_means(comparison);
  const auto pairs = pairs_of(comparison);
  const auto with_ours = std::ranges::find_if(pairs, &Pair::has_ours);
  const auto& pair = with_ours == pairs.end() ? pairs.front() : *with_ours;
  return {.name = item.headline->name, .paper = paper_pair(pair), .ours = our_pair(pair)};
}

Json to_json(const Comparison& comparison) {
  const auto& item = *comparison.item;
  const auto texts = headline(comparison);
  return {
      {"label", item.label},
      {"shows", item.shows},
      {"state", state_name(item.state)},
      {"metric", item.metric_name},
      {"split", comparison.split.empty() ? Json() : Json(comparison.split)},
      {"rows", to_json(comparison, comparison.rows)},
      {"means", to_json(comparison, comparison.means)},
      {"headline", item.headline ? Json{{"name", texts.name}, {"paper", texts.paper}, {"ours", texts.ours}} : Json()}};
}

}  // namespace quest::paper
