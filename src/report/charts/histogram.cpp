#include "report/charts/histogram.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "report/charts/markup.h"
#include "report/charts/plot_frame.h"

namespace quest::report {
namespace {

constexpr double kBarGap = 1.0;

std::string summary_of(const Histogram& histogram) {
  const int all = std::accumulate(histogram.counts.begin(), histogram.counts.end(), 0);
  if (all == 0) return "No values.";
  const auto fullest = std::ranges::max_element(histogram.counts) - histogram.counts.begin();
  return grouped(all) + " " + histogram.y_title + "; the fullest bin is " +
         bin_name(static_cast<std::size_t>(fullest), histogram.counts.size()) + " with " +
         grouped(histogram.counts[fullest]) + ".";
}

}  // namespace

Panel histogram(const Histogram& histogram) {
  const std::size_t bins = histogram.counts.size();
  const Range y = rounded({0.0, static_cast<double>(std::max(1, histogram.most))}, 5);
  const PlotFrame frame(histogram.title, {.title = histogram.x_title, .range = {0.0, 1.0}, .unit = 0.01},
                        {.title = histogram.y_title, .range = y});
  std::string drawing = frame.drawing();
  for (std::size_t bin = 0; bin < bins; ++bin) {
    const double from = frame.x()(static_cast<double>(bin) / static_cast<double>(bins));
    const double to = frame.x()(static_cast<double>(bin + 1) / static_cast<double>(bins));
    const double top = frame.y()(histogram.counts[bin]);
    drawing += mark("series" + std::to_string(histogram.color),
                    bin_name(bin, bins) + "\n" + grouped(histogram.counts[bin]) + " " + histogram.y_title,
                    rect(from, top, to - from - kBarGap, kPlotY.from - top, "bar") + PlotFrame::target(from, to));
  }
  return {.title = histogram.title,
          .summary = summary_of(histogram),
          .height = PlotFrame::height(),
          .drawing = std::move(drawing)};
}

std::string bin_name(std::size_t bin, std::size_t bins) {
  const auto edge = [bins](std::size_t i) {
    return number(100.0 * static_cast<double>(i) / static_cast<double>(bins));
  };
  return edge(bin) + " to " + edge(bin + 1) + " %";
}

}  // namespace quest::report
