#include <algorithm>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>

#include "domains/domain.h"

namespace quest::domains {
namespace {

// Who declares what, to tell of two.
class Names {
 public:
  explicit Names(std::string kind) : kind_(std::move(kind)) {}

  void add(std::string_view name, std::string_view domain) {
    const auto [place, is_new] = owners_.try_emplace(std::string(name), domain);
    if (is_new) return;
    throw std::logic_error("the " + kind_ + " \"" + std::string(name) + "\" is declared twice, in src/domains/" +
                           place->second + " and src/domains/" + std::string(domain) + "; rename one of them");
  }

 private:
  std::string kind_;
  std::map<std::string, std::string> owners_;
};

}  // namespace

std::vector<eval::EvaluationEntry> all_evaluations() {
  const auto shared = eval::evaluations();
  std::vector<eval::EvaluationEntry> evaluations(shared.begin(), shared.end());
  for (const auto& domain : all()) std::ranges::copy(domain.evaluations, std::back_inserter(evaluations));
  return evaluations;
}

void check(std::span<const Domain> domains) {
  Names tasks("task");
  Names verbs("verb");
  Names evaluations("evaluation");
  for (const auto& verb : {"demo", "train", "eval", "paper", "report", "recipes", "data", "bench", "info"}) {
    verbs.add(verb, "(the program's own)");
  }
  for (const auto& evaluation : eval::evaluations()) evaluations.add(evaluation.name, "(src/eval)");
  for (const auto& domain : domains) {
    for (const auto& task : domain.tasks) {
      tasks.add(task.name, domain.name);
      if ((task.factory == nullptr) == (task.packed == nullptr)) {
        throw std::logic_error("the task \"" + std::string(task.name) + "\" in src/domains/" +
                               std::string(domain.name) + " must declare a factory or a packed task, and not both");
      }
    }
    for (const auto& verb : domain.verbs) verbs.add(verb.name, domain.name);
    for (const auto& evaluation : domain.evaluations) evaluations.add(evaluation.name, domain.name);
  }
}

}  // namespace quest::domains
