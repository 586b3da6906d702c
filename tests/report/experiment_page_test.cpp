#include "report/experiment_page.h"

#include <gtest/gtest.h>

#include <fstream>
#include <stdexcept>

#include "paper/comparison.h"
#include "report/charts/png.h"
#include "report/page/write.h"
#include "tests/paper/refusals.h"
#include "tests/report/made_up_experiment.h"
#include "tests/testing/temporary_folder.h"

namespace quest::report {
namespace {

using testing::expect_contains;
using testing::refusal_of;
using testing::TemporaryFolder;
using testing::text_of;

std::string page_of(const paper::Experiment& experiment, const paper::Runs& runs) {
  return page_html(experiment_report(experiment, runs, {}).page);
}

std::vector<std::string> sections_of(const Report& report) {
  std::vector<std::string> ids;
  for (const auto& section : report.page.sections) ids.push_back(section.id);
  return ids;
}

TEST(ExperimentPage, ShowsTablesFiguresAndRecipe) {
  auto runs = made_up_runs();
  for (auto& run : runs.runs) run.settings["data.protocol"] = "paper";
  const auto of_paper = runs.runs;
  for (auto run : of_paper) {
    run.settings["data.protocol"] = "holdout";
    runs.runs.push_back(std::move(run));
  }
  const auto report = experiment_report(made_up_experiment("split = 'data.protocol'"), runs, {});
  const auto page = page_html(report.page);
  for (const char* part : {"<h1>A line</h1>", "How well it is found", "36 of 36 runs have ended.",
                           "Table 1: Errors; accuracy, %", "State: full size (runs here as in the paper).",
                           "65.00 ± 1.00 (3)", "78.54", "mean of 2", "train.epochs", "&lt;key&gt;", "holdout"}) {
    expect_contains(page, part);
  }
  EXPECT_EQ(sections_of(report), (std::vector<std::string>{"paper", "runs", "recipe"}));
  ASSERT_EQ(report.figures.size(), 1U);
  EXPECT_EQ(report.figures[0].id, "table-1");
  EXPECT_EQ(report.figures[0].panels.size(), 6U) << "one for each row and protocol";
  EXPECT_EQ(report.figures[0].values.rows.size(), 36U);
  EXPECT_EQ(report.figures[0].panels[1].title, "Heartbeat, holdout");
}

TEST(ExperimentPage, SaysWhatIsNotCounted) {
  auto runs = made_up_runs();
  runs.runs[0].status = "crashed at iteration 7";
  runs.runs[17].status = "interrupted";
  const auto page = page_of(made_up_experiment(), runs);
  expect_contains(page, "17 of 18 runs have ended, 1 of them in a crash.");
  expect_contains(page, "1 more are still to end; they are listed below.");
  expect_contains(page, "Runs that crashed or have not ended");
  expect_contains(page, ">Heartbeat/mean/seed-0<");
  expect_contains(page, ">crashed at iteration 7<");
  expect_contains(page, ">Traffic/first/seed-2<");
  EXPECT_EQ(page.find(">Traffic/first/seed-1<"), std::string::npos);
  expect_contains(page, "65.50 ± 0.71 (2), 1 crashed");
}

TEST(ExperimentPage, ThereIsNoneBeforeARunHasEnded) {
  auto runs = made_up_runs();
  for (auto& run : runs.runs) run.status = "running";
  EXPECT_EQ(
      refusal_of<std::runtime_error>([&] { static_cast<void>(page_of(made_up_experiment(), runs)); }),
      "expected at least one run of the experiment \"line\" that has ended, found none among 18; `quest paper line "
      "--train` trains what is missing");
  const paper::Runs broken{.runs = {}, .problems = {"\"x/run.json\" is broken", "another"}};
  expect_contains(
      refusal_of<std::runtime_error>([&] { static_cast<void>(page_of(made_up_experiment(), broken)); }),
      "found none among 0; `quest paper line --train` trains what is missing; the first of what was left out: "
      "\"x/run.json\" is broken");
  runs.runs.front().status = "crashed at iteration 1";
  EXPECT_NO_THROW(static_cast<void>(page_of(made_up_experiment(), runs))) << "a crash is a result";
}

TEST(ExperimentPage, ListsProblemsAndNotAllOfManyRuns) {
  auto runs = made_up_runs();
  runs.runs.resize(1);
  for (int i = 0; i < 105; ++i) {
    runs.runs.push_back(made_up_run("Vowels", "mean", i, 0.5));
    runs.runs.back().status = "running";
  }
  runs.problems = {"\"runs/line/x/run.json\" <is> broken"};
  const auto report = experiment_report(made_up_experiment(), runs, {});
  EXPECT_EQ(sections_of(report).back(), "problems");
  const auto page = page_html(report.page);
  expect_contains(page, "1 of 106 runs have ended.");
  expect_contains(page, "5 more are left out.");
  expect_contains(page, "Left out of the tables:");
  expect_contains(page, "<li>&quot;runs/line/x/run.json&quot; &lt;is&gt; broken</li>");
}

TEST(ExperimentPage, PackedRunsAreToldApartByTheirSettings) {
  auto runs = made_up_runs();
  for (auto& run : runs.runs) {
    run.folder = "runs/line";
    run.series = nlohmann::ordered_json::object();
  }
  runs.runs[4].status = "crashed at epoch 3";
  expect_contains(page_of(made_up_experiment(), runs), ">line: data.name = Heartbeat, model.head = first, seed = 1<");
}

TEST(ExperimentPage, AnItemThatCannotBeComparedSaysWhyAndTheOthersStay) {
  const auto broken =
      "\n[[item]]\nlabel = 'Table 2'\nshows = 'More'\nstate = 'full size'\nmetric = 'acuracy'\n"
      "columns = [{ title = 'c', match = {} }]\nrows = [{ title = 'r', match = {} }]\n";
  const auto report = experiment_report(made_up_experiment("", broken), made_up_runs(), {});
  const auto page = page_html(report.page);
  expect_contains(page, "item.metric: Table 2 asks for &quot;acuracy&quot;");
  expect_contains(page, "65.00 ± 1.00 (3)");
  EXPECT_EQ(report.figures.size(), 1U);
}

TEST(ExperimentPage, LeavesOutWhatHasNoNumbers) {
  const auto drawing = "\n[[item]]\nlabel = 'Figure 9'\nshows = 'A drawing'\nstate = 'nothing to run'\n";
  EXPECT_EQ(page_of(made_up_experiment("", drawing), made_up_runs()).find("Figure 9"), std::string::npos);
}

TEST(ExperimentPage, ATableOfThePaperAloneHasNoFigure) {
  const auto other =
      "\n[[item]]\nlabel = 'Table 9'\nshows = 'Later'\nstate = 'not yet'\n"
      "columns = [{ title = 'c' }]\nrows = [{ title = 'r', numbers = ['1.25'] }]\n";
  const auto report = experiment_report(made_up_experiment("", other), made_up_runs(), {});
  expect_contains(page_html(report.page), "1.25");
  EXPECT_EQ(report.figures.size(), 1U);
}

TEST(ExperimentPage, HasTheFiguresOfTheDomainAfterItsOwn) {
  const Figure figure{.id = "norms",
                      .title = "Norms <of> keys",
                      .caption = "",
                      .panels = {{.title = "p", .summary = "s", .height = 10.0, .drawing = "<g></g>"}},
                      .values = {.caption = "v", .columns = {"a"}, .rows = {{"1"}}}};
  const auto report = experiment_report(made_up_experiment(), made_up_runs(), {figure});
  ASSERT_EQ(report.figures.size(), 2U);
  EXPECT_EQ(report.figures[1].id, "norms");
  EXPECT_EQ(sections_of(report), (std::vector<std::string>{"paper", "runs", "figures", "recipe"}));
  expect_contains(page_html(report.page), "Norms &lt;of&gt; keys");
}

TEST(ExperimentPage, EscapesWhatFilesAndRunsSay) {
  const std::string script = "<script>alert(1)</script>";
  auto experiment = made_up_experiment();
  experiment.title = experiment.summary = "title " + script;
  auto& item = experiment.items.front();
  item.label += script;
  item.shows += script;
  item.metric_name += script;
  item.rows.front().title += script;
  item.columns.front().title += script;
  item.numbers.front().front()->text += script;
  auto runs = made_up_runs();
  for (auto& run : runs.runs) run.settings[script] = script;
  runs.runs.back().status = script;
  runs.runs.back().recipe = script;
  runs.problems = {script};
  const auto report = experiment_report(experiment, runs, {});
  const auto page = page_html(report.page);
  EXPECT_EQ(page.find("<script>alert"), std::string::npos);
  expect_contains(page, "title &lt;script&gt;alert(1)&lt;/script&gt;</h1>");
  for (const auto& figure : report.figures) {
    EXPECT_EQ(figure.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"), std::string::npos) << figure.id;
    EXPECT_EQ(figure_svg(figure).find("<script>"), std::string::npos);
  }
}

void write_run(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "evaluations");
  std::ofstream(folder / "run.json") << R"({"recipe": "made-up/line", "task": "line", "status": "finished"})";
  std::ofstream(folder / "recipe.toml") << "task = \"line\"\ndata.name = \"Vowels\"\nmodel.head = \"mean\"\nseed = 0\n";
  std::ofstream(folder / "evaluations/best.json") << R"({"evaluation": "best", "metrics": {"accuracy": 0.5}})";
}

TEST(ExperimentPage, IsTheSameForTheSameFolder) {
  const TemporaryFolder one;
  const TemporaryFolder other;
  const auto page_in = [](const std::filesystem::path& folder) {
    write_run(folder / "line/a");
    const auto experiment = made_up_experiment();
    return page_of(experiment, paper::runs_of_experiment(experiment, paper::read_runs(folder / "line")));
  };
  const auto page = page_in(one.path());
  expect_contains(page, "50.00 (1)");
  EXPECT_EQ(page, page_in(other.path()));
}

TEST(ExperimentPage, WritesEveryFigureAsSvgAndPng) {
  if (!kDrawsPng) GTEST_SKIP() << "skipped: this build has no librsvg";
  const TemporaryFolder folder;
  const auto report = experiment_report(made_up_experiment(), made_up_runs(), {});
  write_page(report, folder.path() / "new" / "page.html");
  EXPECT_EQ(text_of(folder.path() / "new" / "page.html"), page_html(report.page));
  write_figures(report, folder.path() / "figures");
  for (const Figure& figure : report.figures) {
    EXPECT_TRUE(text_of(folder.path() / "figures" / (figure.id + ".svg")).starts_with("<svg")) << figure.id;
    EXPECT_TRUE(text_of(folder.path() / "figures" / (figure.id + ".png")).starts_with("\x89PNG")) << figure.id;
  }
  std::ofstream(folder.path() / "file") << "x";
  EXPECT_THROW(write_figures(report, folder.path() / "file"), std::runtime_error);
  EXPECT_THROW(write_page(report, folder.path() / "file" / "page.html"), std::runtime_error);
}

}  // namespace
}  // namespace quest::report
