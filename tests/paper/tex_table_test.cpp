// The reader of LaTeX tables that the paper's numbers are checked with, on a small table with all of its markup.

#include "tests/paper/tex_table.h"

#include <gtest/gtest.h>

#include "tests/paper/refusals.h"

namespace quest::testing {
namespace {

constexpr std::string_view kSource = R"(
\begin{table}
  \label{table:other}
  \begin{tabular}{ll} \midrule A & 1 \\ \bottomrule \end{tabular}
\end{table}
\begin{table}
  \label{table:errors}
  \begin{tabular}{llcc}
    \toprule
    Data (\%) & \makecell{Attention\\(kind)} & Top-1 & \multicolumn{1}{c}{NLL $\downarrow$} \\
    \cmidrule{3-4}
    \midrule
    \rowcolor{gray} \multicolumn{4}{c}{first trainings} \\
    \multirow{2}{*}{5\%} & Standard$^\dagger$ & $40.82\pm0.81$ & -- \\
    & QUEST & $\textbf{41.96}\pm \textbf{0.15}$ & $\boldsymbol{3.254 \pm 0.014}$ \\
    \midrule
    10\% & Standard & \multicolumn{2}{c}{--training crashed--} \\
    & QUEST & \underline{57.51} & $-$ \\
    \bottomrule
  \end{tabular}
\end{table}
)";

constexpr const char* kItem = R"(title = "T"
summary = "S"
[[item]]
label = "Table 1"
shows = "x"
state = "not yet"
columns = [{ title = "top-1" }, { title = "NLL" }]
rows = [
  { title = "5 %, Standard", numbers = ["40.82 ± 0.81", "--"] },
  { title = "5 %, QUEST", numbers = ["41.96 ± 0.15", "3.254 ± 0.014"] },
  { title = "10 %, Standard", numbers = ["crashed", "crashed"] },
  { title = "10 %, QUEST", numbers = ["57.51", ""] },
]
)";

std::vector<std::string> differences_with(const std::string& from, const std::string& to) {
  std::string toml = kItem;
  toml.replace(toml.find(from), from.size(), to);
  return differences(paper::parse_experiment("x", toml, "x").items.front(), tex_rows(kSource, "table:errors"));
}

TEST(TexTable, IsRowsOfPlainTexts) {
  EXPECT_EQ(tex_rows(kSource, "table:errors"), (std::vector<TexRow>{{"5%", "Standard^\\dagger", "40.82 ± 0.81", "--"},
                                                                    {"", "QUEST", "41.96 ± 0.15", "3.254 ± 0.014"},
                                                                    {"10%", "Standard", "crashed", "crashed"},
                                                                    {"", "QUEST", "57.51", ""}}));
  EXPECT_EQ(tex_rows(kSource, "table:other"), (std::vector<TexRow>{{"A", "1"}}));
  EXPECT_TRUE(tex_rows(kSource, "table:none").empty());
  EXPECT_EQ(tex_table_labels(std::string(kSource)), (std::vector<std::string>{"table:other", "table:errors"}));
}

TEST(TexTable, AgreesWithTheSameItem) { EXPECT_EQ(differences_with("S", "S"), std::vector<std::string>{}); }

TEST(TexTable, NoticesWhatDiffers) {
  const auto first = [](const std::string& from, const std::string& to) {
    const auto found = differences_with(from, to);
    return found.empty() ? "" : found.front();
  };
  EXPECT_EQ(first("41.96", "41.95"), "5 %, QUEST, top-1: \"41.95 ± 0.15\", the paper's \"41.96 ± 0.15\"");
  EXPECT_EQ(first("0.014", "0.04"), "5 %, QUEST, NLL: \"3.254 ± 0.04\", the paper's \"3.254 ± 0.014\"");
  EXPECT_EQ(first("\"57.51\", \"\"", "\"\", \"57.51\""), "10 %, QUEST, top-1: \"\", the paper's \"57.51\"");
  EXPECT_EQ(first("5 %, QUEST", "5 %, QNorm"), "5 %, QNorm: the paper's row is ");
  EXPECT_EQ(first("  { title = \"10 %, QUEST\", numbers = [\"57.51\", \"\"] },\n", ""), "3 rows, the paper's 4");
}

TEST(TexTable, ComparesAveragesWithTheMeans) {
  const auto item =
      paper::parse_experiment(
          "x",
          "title = 'T'\nsummary = 'S'\n[[item]]\nlabel = 'L'\nshows = 'x'\nstate = 'not yet'\nhas_means = "
          "true\ndecimals = 1\ncolumns = [{ title = 'a' }]\nrows = [{ title = 'r', numbers = ['1.0'] }, { "
          "title = 's', numbers = ['2.5'] }]\n",
          "x")
          .items.front();
  EXPECT_TRUE(differences(item, {{"r", "1.0"}, {"s", "2.5"}, {"Average", "1.8"}}).empty());
  EXPECT_EQ(differences(item, {{"r", "1.0"}, {"s", "2.5"}, {"Average", "1.9"}}),
            std::vector<std::string>{"the mean of a is 1.75, the paper's 1.9"});
  EXPECT_EQ(transposed({{"A", "1", "2"}, {"B", "3", "4"}}), (std::vector<TexRow>{{"A", "B"}, {"1", "3"}, {"2", "4"}}));
}

}  // namespace
}  // namespace quest::testing
