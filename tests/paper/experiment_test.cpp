// What an experiment's file may say, and what is said of one that is wrong.

#include "paper/experiment.h"

#include <gtest/gtest.h>

#include <fstream>
#include <regex>

#include "recipe/settings.h"
#include "tests/paper/refusals.h"
#include "tests/testing/temporary_folder.h"

namespace quest::paper {
namespace {

using recipe::RecipeError;
using testing::expect_contains;
using testing::refusal_of;
using Texts = std::vector<std::string>;

constexpr const char* kWhole = R"(title = "A line"
summary = "How well it is found"
split = "data.noise"

[[sweep]]
recipe = "made-up/line"
seeds = 3
evaluations = ["calibration", "attacks"]
set.train.monitor_every = 0
[sweep.axes]
model.head = ["mean", "first"]
data.noise = [0.5, 0.1]
data.flip = [true, false]

[[small]]
recipe = "made-up/line"
[small.axes]
model.head = ["mean"]

[[item]]
label = "Table 1"
shows = "Errors"
state = "small version"
tex = "table:errors"
metric = "squared_error"
metric_name = "error, %"
factor = 100
decimals = 1
higher_is_better = false
has_means = true
columns = [
  { title = "few", match = { data.samples = 100, data.sizes = [1, 2], "recipe" = "made-up/line" } },
  { title = "many", match = {} },
  { title = "none yet" },
]
rows = [
  { title = "mean", match = { model.head = "mean" }, metric = "calibration:ece", factor = 0.5, decimals = 3, higher_is_better = true, numbers = ["1.5", "2.5 ± 0.1", ""] },
  { title = "first", numbers = ["crashed", "~3", "4"] },
]
headline = { name = "few", row = "mean", quest = "few", standard = "many" }

[[item]]
label = "Figure 2"
shows = "A drawing"
state = "nothing to run"
)";

Experiment parsed(const std::string& toml) { return parse_experiment("line", toml, "paper/line.toml"); }

std::string refusal(const std::string& toml) {
  return refusal_of<RecipeError>([&] { static_cast<void>(parsed(toml)); });
}

// Of the whole file with one text in it replaced.
std::string refusal_with(const std::string& from, const std::string& to) {
  std::string toml = kWhole;
  const auto place = toml.find(from);
  EXPECT_NE(place, std::string::npos) << from;
  return refusal(toml.replace(place, from.size(), to));
}

TEST(Experiment, HoldsWhatItsFileSays) {
  const auto experiment = parsed(kWhole);
  EXPECT_EQ(experiment.name, "line");
  EXPECT_EQ(experiment.title, "A line");
  EXPECT_EQ(experiment.summary, "How well it is found");
  EXPECT_EQ(experiment.split, "data.noise");
  ASSERT_EQ(experiment.sweep.size(), 1U);
  const auto& grid = experiment.sweep.front();
  EXPECT_EQ(grid.place, "paper/line.toml:5:1: sweep");
  EXPECT_EQ(grid.recipe, "made-up/line");
  EXPECT_EQ(grid.seeds, 3);
  EXPECT_EQ(grid.evaluations, (Texts{"calibration", "attacks"}));
  EXPECT_EQ(grid.set, (Match{{"train.monitor_every", "0"}}));
  ASSERT_EQ(grid.axes.size(), 3U);
  EXPECT_EQ(grid.axes[0].key, "model.head") << "in the order of the file";
  EXPECT_EQ(grid.axes[1].values, (Texts{"0.5", "0.1"}));
  EXPECT_EQ(grid.axes[2].values, (Texts{"true", "false"}));
  ASSERT_EQ(experiment.small.size(), 1U);
  EXPECT_EQ(experiment.small.front().seeds, 1);
  EXPECT_EQ(experiment.small.front().axes.front().values, Texts{"mean"});
}

TEST(Experiment, HoldsItsTables) {
  const auto experiment = parsed(kWhole);
  ASSERT_EQ(experiment.items.size(), 2U);
  const auto& item = experiment.items.front();
  EXPECT_EQ(item.label, "Table 1");
  EXPECT_EQ(item.shows, "Errors");
  EXPECT_EQ(item.state, State::small_version);
  EXPECT_EQ(item.tex, "table:errors");
  EXPECT_EQ(item.metric, "squared_error");
  EXPECT_EQ(item.metric_place, "paper/line.toml:25:1: item.metric");
  EXPECT_EQ(item.metric_name, "error, %");
  EXPECT_EQ(item.factor, 100.0);
  EXPECT_EQ(item.decimals, 1);
  EXPECT_FALSE(item.higher_is_better);
  EXPECT_TRUE(item.has_means);
  ASSERT_EQ(item.columns.size(), 3U);
  EXPECT_EQ(item.columns[0].match,
            (Match{{"data.samples", "100"}, {"data.sizes", "[1, 2]"}, {"recipe", "made-up/line"}}));
  EXPECT_EQ(item.columns[1].match, Match{}) << "every run";
  EXPECT_FALSE(item.columns[2].match) << "no run";
  ASSERT_EQ(item.rows.size(), 2U);
  EXPECT_EQ(item.rows[0].metric, "calibration:ece");
  EXPECT_EQ(item.rows[0].factor, 0.5);
  EXPECT_EQ(item.rows[0].decimals, 3);
  EXPECT_EQ(item.rows[0].higher_is_better, true);
  EXPECT_FALSE(item.rows[1].decimals);
  ASSERT_EQ(item.numbers.size(), 2U);
  EXPECT_EQ(item.numbers[0][1]->spread, 0.1);
  EXPECT_FALSE(item.numbers[0][2]);
  EXPECT_EQ(item.numbers[1][0]->text, "crashed");
  EXPECT_FALSE(item.numbers[1][0]->value);
  ASSERT_TRUE(item.headline);
  EXPECT_EQ(item.headline->row, "mean");
  EXPECT_EQ(item.headline->standard, "many");
}

TEST(Experiment, LeavesOutWhatMayBeLeftOut) {
  const auto experiment = parsed("title = 'T'\nsummary = 'S'\n[[item]]\nlabel = 'L'\nshows = 'X'\nstate = 'not yet'\n");
  EXPECT_TRUE(experiment.split.empty());
  EXPECT_TRUE(experiment.sweep.empty());
  const auto& item = experiment.items.front();
  EXPECT_EQ(item.factor, 1.0);
  EXPECT_EQ(item.decimals, 2);
  EXPECT_TRUE(item.higher_is_better);
  EXPECT_FALSE(item.has_means);
  EXPECT_FALSE(item.headline);
  EXPECT_TRUE(item.numbers.empty());
}

// The first column of the page's table of keys below a line that begins with `head`.
Texts documented_keys(const std::string& head) {
  const auto page = testing::text_of(std::filesystem::path(QUEST_SOURCES) / "docs/adding-a-domain.md");
  auto rest = page.substr(page.find("\n" + head) + 1);
  rest = rest.substr(rest.find("| --- |"));
  rest = rest.substr(0, rest.find("\n\n"));
  const std::regex cell("\n\\| ([^|]+) \\|");
  const std::regex key("`(\\w+)`");
  Texts keys;
  for (std::sregex_iterator row(rest.begin(), rest.end(), cell), end; row != end; ++row) {
    const auto names = (*row)[1].str();
    if (names.find(" of a row") != std::string::npos) continue;
    for (std::sregex_iterator name(names.begin(), names.end(), key); name != end; ++name) keys.push_back((*name)[1]);
  }
  return keys;
}

TEST(Experiment, TakesEveryDocumentedKey) {
  const auto of_item = documented_keys("An `[[item]]` has");
  EXPECT_GE(of_item.size(), 13U);
  for (const auto& key : of_item) {
    const auto said = refusal("title = 'T'\nsummary = 'S'\n[[item]]\n" + key + " = [[1]]\n");
    expect_contains(said, "paper/line.toml:4:");
    expect_contains(said, "item." + key + ": expected");
  }
  EXPECT_EQ(documented_keys("is `paper/<experiment>.toml`"), (Texts{"title", "summary", "split"}));
}

struct Wrong {
  const char* from;
  const char* to;
  const char* message;
};

class WrongExperiment : public ::testing::TestWithParam<Wrong> {};

TEST_P(WrongExperiment, IsToldWithFileLineAndKey) {
  EXPECT_EQ(refusal_with(GetParam().from, GetParam().to), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Keys, WrongExperiment,
    ::testing::Values(
        Wrong{"split =", "splits =", "paper/line.toml:3:1: splits: there is no such key; the nearest is \"split\""},
        Wrong{"title = \"A line\"", "", "paper/line.toml:1:1: title: expected a text, and the key is missing"},
        Wrong{"seeds = 3", "seed = 3",
              "paper/line.toml:7:1: sweep.seed: there is no such key; the nearest is \"seeds\""},
        Wrong{"[sweep.axes]", "[sweep.axis]",
              "paper/line.toml:10:8: sweep.axis: there is no such key; the nearest is \"axes\""},
        Wrong{"decimals = 1", "decimal = 1",
              "paper/line.toml:28:1: item.decimal: there is no such key; the nearest is \"decimals\""},
        Wrong{"{ title = \"none yet\" }", "{ titel = \"none yet\" }",
              "paper/line.toml:34:5: item.columns.titel: there is no such key; the nearest is \"title\""},
        Wrong{"title = \"first\"", "titles = \"first\"",
              "paper/line.toml:38:5: item.rows.titles: there is no such key; the nearest is \"title\""},
        Wrong{"row = \"mean\"", "rows = \"mean\"",
              "paper/line.toml:40:28: item.headline.rows: there is no such key; the nearest is \"row\""},
        Wrong{"label = \"Figure 2\"", "", "paper/line.toml:42:1: item.label: expected a text, and the key is missing"},
        Wrong{"state = \"nothing to run\"", "",
              "paper/line.toml:42:1: item.state: expected a text, and the key is missing"},
        Wrong{"name = \"few\", ", "",
              "paper/line.toml:40:1: item.headline.name: expected a text, and the key is missing"}));

INSTANTIATE_TEST_SUITE_P(
    Values, WrongExperiment,
    ::testing::Values(
        Wrong{"seeds = 3", "seeds = 0", "paper/line.toml:7:1: sweep.seeds: expected a whole number from 1, got 0"},
        Wrong{"evaluations = [\"calibration\", \"attacks\"]", "evaluations = \"calibration\"",
              "paper/line.toml:8:1: sweep.evaluations: expected a list of texts, got \"calibration\""},
        Wrong{"set.train.monitor_every = 0", "set = 1",
              "paper/line.toml:9:1: sweep.set: expected a table of keys of the recipe, got 1"},
        Wrong{"model.head = [\"mean\", \"first\"]", "model.head = \"mean\"",
              "paper/line.toml:11:7: axes.model.head: expected a list of values, got \"mean\""},
        Wrong{"model.head = [\"mean\", \"first\"]", "model.head = []",
              "paper/line.toml:11:7: axes.model.head: expected at least one value, got none"},
        Wrong{"model.head = [\"mean\", \"first\"]", "model.head = [[1]]",
              "paper/line.toml:11:7: axes.model.head: expected a list of single values, got in it a list"},
        Wrong{"[0.5, 0.1]", "[0.5, 0.5]",
              "paper/line.toml:12:6: axes.data.noise: expected different values, got 0.5 twice"},
        Wrong{"data.flip = [true, false]", "seed = [1, 2]",
              "paper/line.toml:10:8: sweep.axes: expected no axis \"seed\": `seeds` says how many there are"},
        Wrong{"set.train.monitor_every = 0", "set.model.head = \"mean\"",
              "paper/line.toml:9:1: sweep.set: expected keys that are no axes, got model.head"},
        Wrong{
            "state = \"small version\"", "state = \"small\"",
            "paper/line.toml:23:1: item.state: expected one of full size, small version, data needed, not yet, nothing "
            "to run, got \"small\""},
        Wrong{"factor = 100", "factor = \"100\"", "paper/line.toml:27:1: item.factor: expected a number, got \"100\""},
        Wrong{"decimals = 1", "decimals = 13", "paper/line.toml:28:1: item.decimals: expected at most 12, got 13"},
        Wrong{"decimals = 1", "decimals = -1",
              "paper/line.toml:28:1: item.decimals: expected a whole number from 0, got -1"},
        Wrong{"has_means = true", "has_means = 1",
              "paper/line.toml:30:1: item.has_means: expected true or false, got 1"},
        Wrong{"model.head = \"mean\" }", "model.head = [[1]] }",
              "paper/line.toml:37:21: item.rows.match: expected a list of single values, got in it a list or a table"},
        Wrong{"\"1.5\"", "1.5", "paper/line.toml:37:146: item.rows.numbers: expected a list of texts, got in it 1.5"},
        Wrong{
            "\"1.5\"", "\"1.5 +- 2\"",
            "paper/line.toml:37:135: item.rows.numbers: expected \"1.5\", \"1.5 ± 0.1\", \"~1.5\", words or \"\", got "
            "\"1.5 +- 2\""},
        Wrong{"label = \"Figure 2\"", "label = \"Table 1\"",
              "paper/line.toml:43:1: item.label: expected one of its own, got \"Table 1\" for a second time"}));

INSTANTIATE_TEST_SUITE_P(
    Tables, WrongExperiment,
    ::testing::Values(
        Wrong{"[\"crashed\", \"~3\", \"4\"]", "[\"crashed\", \"~3\"]",
              "paper/line.toml:38:22: item.rows.numbers: expected 3, one a column (\"\" for none), got 2"},
        Wrong{", numbers = [\"crashed\", \"~3\", \"4\"]", "",
              "paper/line.toml:36:1: item.rows: expected numbers in every row or in none, got them in 1 of 2"},
        Wrong{", numbers = [\"1.5\", \"2.5 ± 0.1\", \"\"]", "",
              "paper/line.toml:38:22: item.rows.numbers: expected in every row or in none"},
        Wrong{"title = \"first\"", "title = \"mean\"",
              "paper/line.toml:38:5: item.rows.title: expected one of its own, got \"mean\" for a second time"},
        Wrong{"title = \"many\"", "title = \"few\"",
              "paper/line.toml:33:5: item.columns.title: expected one of its own, got \"few\" for a second time"},
        Wrong{"{ title = \"many\"", "{ metric = \"loss\", title = \"many\"",
              "paper/line.toml:36:1: item.rows: expected metric, factor, decimals and higher_is_better in rows or in "
              "columns, got both"},
        Wrong{"metric = \"squared_error\"\n", "", ""},  // the only row that matches runs has a metric of its own
        Wrong{"state = \"nothing to run\"", "state = \"not yet\"\nrows = [{ title = \"alone\" }]",
              "paper/line.toml:46:1: item.rows: expected both rows and columns or neither, got 1 and 0"},
        Wrong{"state = \"nothing to run\"",
              "state = \"not yet\"\ncolumns = [{ title = \"c\", match = {} }]\nrows = [{ title = \"r\", match = {} }]",
              "paper/line.toml:42:1: item.metric: expected one, as runs match row \"r\" and column \"c\""}));

INSTANTIATE_TEST_SUITE_P(
    Headlines, WrongExperiment,
    ::testing::Values(
        Wrong{"row = \"mean\"", "row = \"median\"",
              "paper/line.toml:40:28: item.headline.row: expected the title of a row, one of \"mean\", \"first\"; got "
              "\"median\""},
        Wrong{"quest = \"few\"", "quest = \"mean\"",
              "paper/line.toml:40:42: item.headline.quest: expected the title of a column, one of \"few\", \"many\", "
              "\"none yet\"; got \"mean\""},
        Wrong{
            "row = \"mean\"", "column = \"few\"",
            "paper/line.toml:40:44: item.headline.quest: expected the title of a row, one of \"mean\", \"first\"; got "
            "\"few\""},
        Wrong{"row = \"mean\"", "column = \"fw\"",
              "paper/line.toml:40:28: item.headline.column: expected the title of a column, one of \"few\", \"many\", "
              "\"none yet\"; got \"fw\""},
        Wrong{
            "row = \"mean\"", "row = \"mean\", column = \"few\"",
            "paper/line.toml:40:42: item.headline.column: expected a row, whose columns quest and standard name, or a "
            "column, got both"},
        Wrong{", quest = \"few\", standard = \"many\"", "",
              "paper/line.toml:40:1: item.headline.quest: expected quest, standard or both, got neither"},
        Wrong{"has_means = true", "has_means = false", ""}, Wrong{"row = \"mean\", ", "", ""}));  // of the means

TEST(WrongExperiment, AHeadlineOfMeansNeedsMeans) {
  std::string toml = kWhole;
  toml.replace(toml.find("row = \"mean\", "), 14, "");
  toml.replace(toml.find("has_means = true"), 16, "has_means = false");
  EXPECT_EQ(refusal(toml),
            "paper/line.toml:40:1: item.headline.row: expected a row, a column, or an item with has_means = true, got "
            "none of these");
}

TEST(WrongExperiment, CellsThatAreNoResultsMaySayAnything) {
  std::string toml = kWhole;
  toml.replace(toml.find("metric_name = \"error, %\"\n"), 25, "");
  toml.replace(toml.find("\"1.5\""), 5, "\"21s / 11.67h\"");
  EXPECT_EQ(refusal(toml), "");
}

}  // namespace
}  // namespace quest::paper
