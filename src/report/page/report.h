#pragma once

#include <vector>

#include "report/charts/figure.h"
#include "report/page/page.h"

namespace quest::report {

struct Report {
  Page page;
  std::vector<Figure> figures;  // those of the page, in its order
};

}  // namespace quest::report
