#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>

#include "paper/comparison.h"
#include "paper/number_text.h"

namespace quest::paper {
namespace {

using Settings = std::map<std::string, std::string>;

// What differs between runs that may stand in one table, whatever the sweep.
constexpr std::array<std::string_view, 2> kAlwaysFree = {"data.folder", "seed"};

// Keys that the grids vary: their axes, and what they set to different values.
void add_varied(std::span<const Grid> grids, const std::string& recipe, std::set<std::string>& varied) {
  std::map<std::string, std::set<std::string>> set;
  std::map<std::string, std::size_t> setters;
  std::size_t count = 0;
  for (const Grid& grid : grids) {
    if (grid.recipe != recipe) continue;
    ++count;
    for (const Axis& axis : grid.axes) varied.insert(axis.key);
    for (const auto& [key, value] : grid.set) {
      set[key].insert(canonical_value(value));
      ++setters[key];
    }
  }
  for (const auto& [key, values] : set) {
    if (values.size() > 1 || setters[key] < count) varied.insert(key);
  }
}

std::map<std::string, std::set<std::string>> varied_by_recipe(const Experiment& experiment) {
  std::map<std::string, std::set<std::string>> varied;
  for (const auto* grids : {&experiment.sweep, &experiment.small}) {
    for (const Grid& grid : *grids) add_varied(*grids, grid.recipe, varied[grid.recipe]);
  }
  for (auto& [recipe, keys] : varied) keys.insert(kAlwaysFree.begin(), kAlwaysFree.end());
  return varied;
}

Settings fixed_settings(const Run& run, const std::set<std::string>& varied) {
  Settings settings;
  for (const auto& [key, value] : run.settings) {
    if (!varied.contains(key)) settings[key] = canonical_value(value);
  }
  return settings;
}

// The first of equals.
const Settings& most_frequent(const std::vector<Settings>& all) {
  std::map<Settings, std::size_t> counts;
  for (const auto& settings : all) ++counts[settings];
  return *std::ranges::max_element(all, {}, [&](const Settings& settings) { return counts.at(settings); });
}

std::string value_or_missing(const Settings& settings, const std::string& key) {
  const auto found = settings.find(key);
  return found == settings.end() ? "missing" : found->second;
}

std::string difference(const Run& run, const Settings& settings, const Settings& usual) {
  std::set<std::string> keys;
  for (const auto* side : {&settings, &usual}) {
    for (const auto& [key, value] : *side) keys.insert(key);
  }
  const auto key = *std::ranges::find_if(
      keys, [&](const std::string& name) { return value_or_missing(settings, name) != value_or_missing(usual, name); });
  return "\"" + run.folder.string() + "\" is left out: " + key + " is " + value_or_missing(settings, key) +
         " there and " + value_or_missing(usual, key) + " in most runs of " + run.recipe +
         "; keep runs of different settings in different folders";
}

}  // namespace

Runs runs_of_experiment(const Experiment& experiment, Runs runs) {
  const auto varied = varied_by_recipe(experiment);
  std::erase_if(runs.runs, [&](const Run& run) { return !varied.contains(run.recipe); });
  std::map<std::string, std::vector<Settings>> settings;  // by recipe
  for (const Run& run : runs.runs) settings[run.recipe].push_back(fixed_settings(run, varied.at(run.recipe)));
  std::map<std::string, Settings> usual;
  for (const auto& [recipe, all] : settings) usual[recipe] = most_frequent(all);
  std::set<std::string> problems;  // of a packed folder, one
  std::erase_if(runs.runs, [&](const Run& run) {
    const auto own = fixed_settings(run, varied.at(run.recipe));
    if (own == usual.at(run.recipe)) return false;
    const auto problem = difference(run, own, usual.at(run.recipe));
    if (problems.insert(problem).second) runs.problems.push_back(problem);
    return true;
  });
  return runs;
}

}  // namespace quest::paper
