#include <map>

#include "paper/embedded_experiments.h"
#include "recipe/settings.h"

namespace quest::paper {

std::vector<Experiment> parse_experiments(std::span<const EmbeddedExperiment> files) {
  std::vector<Experiment> experiments;
  std::map<std::string, std::string> owners;  // of labels
  for (const auto& file : files) {
    const std::string name(file.name);
    const auto place = "paper/" + name + ".toml";
    experiments.push_back(parse_experiment(name, file.text, place));
    for (const auto& item : experiments.back().items) {
      const auto [owner, is_new] = owners.emplace(item.label, place);
      if (is_new) continue;
      throw recipe::RecipeError(place + ": item.label: expected one of its own, got \"" + item.label + "\", which " +
                                owner->second + " has");
    }
  }
  return experiments;
}

std::span<const Experiment> experiments() {
  static const auto parsed = parse_experiments(embedded_experiments());
  return parsed;
}

}  // namespace quest::paper
