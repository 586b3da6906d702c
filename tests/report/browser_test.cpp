// The page in headless Chromium, wide and as narrow as a phone, light and dark.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>

#include "report/charts/heat_map.h"
#include "report/experiment_page.h"
#include "report/training_page.h"
#include "tests/report/made_up_experiment.h"
#include "tests/report/synthetic_training.h"
#include "tests/testing/temporary_folder.h"

namespace quest::report {
namespace {

using testing::TemporaryFolder;

constexpr int kWide = 1200;
constexpr int kPhone = 390;

// Runs before anything else of the page.
constexpr const char* kWatch = R"(<script>
const findings = { errors: [] };
addEventListener('error', (event) => findings.errors.push(String(event.message)));
addEventListener('securitypolicyviolation', (event) => findings.errors.push('blocked ' + event.blockedURI));
console.error = console.warn = (...words) => findings.errors.push(words.join(' '));
</script>)";

// Runs after the page's own script.
constexpr const char* kProbe = R"(<script>
addEventListener('load', () => {
  for (const details of document.querySelectorAll('details')) details.open = true;
  findings.width = innerWidth;
  findings.page_width = document.documentElement.scrollWidth;
  findings.dark = getComputedStyle(document.body).backgroundColor;
  findings.figures = document.querySelectorAll('figure svg.panel').length;
  findings.unlabelled = document.querySelectorAll('svg.panel:not([aria-label]), .mark:not([aria-label])').length;
  findings.requests = performance.getEntriesByType('resource').map((entry) => entry.name);

  const table = document.querySelector('table');
  const header = table.tHead.rows[0].cells[1];
  const keys = () => [...table.tBodies[0].rows].map((row) => Number(row.cells[1].dataset.key));
  findings.sorts = [];
  for (let i = 0; i < 2; ++i) {
    header.querySelector('button').click();
    findings.sorts.push([header.getAttribute('aria-sort'), keys()]);
  }

  const tip = document.querySelector('.tip');
  const mark = document.querySelector('#success .mark') || document.querySelector('.mark');
  mark.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
  findings.hover = tip.hidden ? '' : tip.textContent;
  document.body.dispatchEvent(new PointerEvent('pointerover', { bubbles: true }));
  findings.away = tip.hidden;
  mark.focus();
  mark.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowDown', bubbles: true }));
  findings.below = document.activeElement.getAttribute('aria-label');
  mark.dispatchEvent(new FocusEvent('focusin', { bubbles: true }));
  findings.focus = tip.hidden ? '' : tip.textContent;
  findings.stops = mark.closest('svg.panel').querySelectorAll('[tabindex="0"]').length;

  findings.downloads = [...document.querySelectorAll('a.download')].map((link) => {
    const text = new TextDecoder().decode(Uint8Array.from(atob(link.href.split(',')[1]), (c) => c.charCodeAt(0)));
    const drawing = new DOMParser().parseFromString(text, 'image/svg+xml');
    return drawing.querySelector('parsererror') ? 'broken' : drawing.documentElement.tagName;
  });
  parent.postMessage(findings, '*');
});
</script>)";

// A window cannot be as narrow as a phone, a frame in it can.
std::string frame_around(const std::string& page_name, int width) {
  return "<!DOCTYPE html><body><iframe width=" + std::to_string(width) + " height=800 style=border:0 src=" + page_name +
         "></iframe><script>addEventListener('message', (event) => {"
         "document.body.textContent = 'BEGIN' + encodeURIComponent(JSON.stringify(event.data)) + 'END'; });"
         "</script></body>";
}

std::string percent_decoded(const std::string& text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += text[i];
      continue;
    }
    result += static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16));
    i += 2;
  }
  return result;
}

std::string output_of(const std::string& command) {
  std::string output;
  std::FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return output;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  pclose(pipe);
  return output;
}

// What a domain adds to the page: a grid whose cells tell where they stand.
Figure grid_figure() {
  Figure figure{.id = "success",
                .title = "Success",
                .caption = "Of every training.",
                .values = {.caption = "Success", .columns = {"learning rate", "success"}, .rows = {{"0.0005", "1"}}}};
  for (const char* title : {"quest", "standard"}) {
    figure.panels.push_back(heat_map({.title = title,
                                      .row_title = "learning rate",
                                      .rows = {"0.0005", "0.0025", "0.01"},
                                      .column_title = "weight decay",
                                      .columns = {"0", "0.1"},
                                      .cells = {{0.5, 0.25}, {1.0, std::nullopt}, {0.0, 0.75}}}));
  }
  return figure;
}

class Browser : public ::testing::Test {
 protected:
  void SetUp() override {
    if (output_of("command -v chromium").empty()) GTEST_SKIP() << "skipped: chromium is not installed";
    page_ = page_html(experiment_report(made_up_experiment(), made_up_runs(), {grid_figure()}).page);
  }

  // What the page says of itself after it has been shown, used and measured.
  nlohmann::json findings(const std::string& page, int width, const std::string& options = "") {
    auto watched = page;
    watched.insert(watched.find("<head>") + 6, kWatch);
    watched.insert(watched.rfind("</body>"), kProbe);
    std::ofstream(folder_.path() / "page.html") << watched;
    std::ofstream(folder_.path() / "frame.html") << frame_around("page.html", width);
    const auto output = output_of(
        "chromium --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --hide-scrollbars " + options +
        " --user-data-dir=" + (folder_.path() / "profile").string() +
        " --virtual-time-budget=10000 --dump-dom file://" + (folder_.path() / "frame.html").string() + " 2>/dev/null");
    const auto begin = output.find("BEGIN");
    const auto end = output.rfind("END");
    if (begin == std::string::npos || end == std::string::npos || end <= begin) {
      ADD_FAILURE() << "the page did not report back; chromium printed:\n" << output;
      return {};
    }
    return nlohmann::json::parse(percent_decoded(output.substr(begin + 5, end - begin - 5)));
  }

  TemporaryFolder folder_;
  std::string page_;
};

TEST_F(Browser, ThePageWorksWideAndNarrow) {
  for (const int width : {kWide, kPhone}) {
    const auto found = findings(page_, width);
    if (found.is_null()) return;
    EXPECT_EQ(found["width"], width);
    EXPECT_EQ(found["page_width"], width) << "the page scrolls sideways";
    EXPECT_EQ(found["errors"], nlohmann::json::array());
    EXPECT_EQ(found["requests"], nlohmann::json::array());
    EXPECT_EQ(found["figures"], 3 + 2) << "a panel a row of the table, and the grid's";
    EXPECT_EQ(found["unlabelled"], 0);
    EXPECT_EQ(found["downloads"], nlohmann::json(std::vector<std::string>(2, "svg")));
  }
}

TEST_F(Browser, TablesSortAndMarksTellTheirValues) {
  const auto found = findings(page_, kWide);
  if (found.is_null()) return;
  const auto down = found["sorts"][0][1].get<std::vector<double>>();
  const auto up = found["sorts"][1][1].get<std::vector<double>>();
  EXPECT_EQ(found["sorts"][0][0], "descending");
  EXPECT_EQ(found["sorts"][1][0], "ascending");
  ASSERT_EQ(down.size(), 3U);
  EXPECT_TRUE(std::ranges::is_sorted(down, std::greater()));
  EXPECT_TRUE(std::ranges::is_sorted(up));
  EXPECT_TRUE(found["hover"].get<std::string>().starts_with("learning rate 0.0005\nweight decay 0\n"));
  EXPECT_EQ(found["focus"], found["hover"]);
  EXPECT_EQ(found["away"], true);
  EXPECT_TRUE(found["below"].get<std::string>().starts_with("learning rate 0.0025\nweight decay 0\n"));
  EXPECT_EQ(found["stops"], 1);
}

TEST_F(Browser, DarkIsDark) {
  const auto light = findings(page_, kWide);
  const auto dark = findings(page_, kWide, "--force-dark-mode");
  if (light.is_null() || dark.is_null()) return;
  EXPECT_EQ(light["dark"], "rgb(246, 248, 250)");
  EXPECT_EQ(dark["dark"], "rgb(15, 19, 23)");
  EXPECT_EQ(dark["errors"], nlohmann::json::array());
}

TEST_F(Browser, APageOfTrainingsWorksWideAndNarrow) {
  write_synthetic_training(folder_.path() / "quest");
  write_synthetic_training(folder_.path() / "standard", {.steps = 590, .crashes = true});
  const std::vector runs = {read_training_run(folder_.path() / "quest"),
                            read_training_run(folder_.path() / "standard")};
  for (const int width : {kWide, kPhone}) {
    const auto found = findings(page_html(training_report(runs).page), width);
    if (found.is_null()) return;
    EXPECT_EQ(found["page_width"], width) << "the page scrolls sideways";
    EXPECT_EQ(found["errors"], nlohmann::json::array());
    EXPECT_EQ(found["requests"], nlohmann::json::array());
    EXPECT_EQ(found["figures"], 4 + 2 + 3 + (4 + 2 * 2) * 2);
    EXPECT_EQ(found["unlabelled"], 0);
    EXPECT_EQ(found["downloads"], nlohmann::json(std::vector<std::string>(9, "svg")));
    EXPECT_TRUE(found["hover"].get<std::string>().starts_with("step 10\nquest: ")) << found["hover"];
    EXPECT_EQ(found["sorts"][0][0], "descending");
    EXPECT_EQ(found["sorts"][0][1], nlohmann::json({600, 590}));
  }
}

TEST_F(Browser, AnExternalRequestWouldBeNoticed) {
  auto page = page_;
  page.insert(page.find("</header>"), "<img src=\"https://example.org/x.png\">");
  const auto found = findings(page, kWide);
  if (found.is_null()) return;
  EXPECT_EQ(found["errors"].size(), 1U) << found["errors"];
}

}  // namespace
}  // namespace quest::report
