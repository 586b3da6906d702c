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

  void add(std::string_view name, const std::string& place) {
    const auto [owner, is_new] = owners_.try_emplace(std::string(name), place);
    if (is_new) return;
    throw std::logic_error("the " + kind_ + " \"" + std::string(name) + "\" is declared twice, in " + owner->second +
                           " and " + place + "; rename one of them");
  }

 private:
  std::string kind_;
  std::map<std::string, std::string> owners_;  // places, by name
};

}  // namespace

std::vector<eval::EvaluationEntry> all_evaluations() {
  const auto shared = eval::evaluations();
  std::vector<eval::EvaluationEntry> evaluations(shared.begin(), shared.end());
  for (const auto& domain : all()) std::ranges::copy(domain.evaluations, std::back_inserter(evaluations));
  return evaluations;
}

void check(std::span<const Domain> domains, std::span<const std::string> verbs_of_program) {
  Names tasks("task");
  Names data_sets("data set");
  Names verbs("verb");
  Names evaluations("evaluation");
  for (const auto& verb : verbs_of_program) verbs.add(verb, "the program itself");
  for (const auto& evaluation : eval::evaluations()) evaluations.add(evaluation.name, "src/eval");
  for (const auto& domain : domains) {
    const auto place = "src/domains/" + std::string(domain.name);
    for (const auto& task : domain.tasks) {
      tasks.add(task.name, place);
      if ((task.factory == nullptr) == (task.packed == nullptr)) {
        throw std::logic_error("the task \"" + std::string(task.name) + "\" in " + place +
                               " must declare a factory or a packed task, and not both");
      }
    }
    for (const auto& set : domain.data_sets) data_sets.add(set.name, place);
    for (const auto& verb : domain.verbs) verbs.add(verb.name, place);
    for (const auto& evaluation : domain.evaluations) evaluations.add(evaluation.name, place);
  }
}

}  // namespace quest::domains
