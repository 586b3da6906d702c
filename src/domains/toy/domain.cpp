#include "domains/domain.h"

#include <algorithm>
#include <iterator>

#include "domains/toy/findings.h"
#include "domains/toy/norm_figures.h"
#include "domains/toy/outcome_figures.h"
#include "domains/toy/spurious_task.h"

namespace quest::toy {
namespace {

std::vector<report::Figure> figures(std::span<const paper::Run> runs) {
  const auto kinds = kinds_of(runs);
  if (kinds.empty()) return {};
  std::vector<report::Figure> all = {outcome_figure(kinds), success_figure(kinds), train_accuracy_figure(kinds),
                                     test_accuracy_figure(kinds)};
  std::ranges::move(norm_figures(kinds), std::back_inserter(all));
  return all;
}

}  // namespace

domains::Domain domain() {
  return {
      .name = "toy",
      .tasks = {{.name = kTaskName,
                 .summary = "tell the class of the one token that differs, past an easier cue; seconds a thousand runs",
                 .packed = spurious_task}},
      .figures = figures,
      .demonstration = "toy"};
}

}  // namespace quest::toy
