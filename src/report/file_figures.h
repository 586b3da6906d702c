#pragma once

// The figures that runs have as files. Runs share a figure, and its panels, as far as ids and panels agree.

#include <span>
#include <string>
#include <vector>

#include "report/charts/figure.h"
#include "report/figure_read.h"

namespace quest::report {

struct RunFigures {
  std::string run;
  std::span<const FigureFile> figures;
};

// By id, each "figure-ID". Lines of a run have its colour. Where lines would need more colours than there are, every
// run gets a figure of its own, "figure-ID-run2".
[[nodiscard]] std::vector<Figure> file_figures(std::span<const RunFigures> runs);

}  // namespace quest::report
