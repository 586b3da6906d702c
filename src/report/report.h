#pragma once

#include <vector>

#include "report/figure.h"
#include "report/page.h"

namespace quest::report {

struct Report {
  Page page;
  std::vector<Figure> figures;  // those of the page, in its order
};

}  // namespace quest::report
