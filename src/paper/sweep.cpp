#include "paper/sweep.h"

#include <algorithm>
#include <map>
#include <set>

#include "recipe/settings.h"

namespace quest::paper {
namespace {

// A value as the name of a folder.
std::string folder_name(std::string value) {
  std::ranges::replace(value, '/', '-');
  return value.empty() ? "default" : value;
}

// Of the grid's axes, the last one fastest.
void combine(const Grid& grid, std::size_t axis, PlannedRun run, std::vector<PlannedRun>& runs) {
  if (axis == grid.axes.size()) {
    runs.push_back(std::move(run));
    return;
  }
  for (const auto& value : grid.axes[axis].values) {
    auto next = run;
    next.settings.emplace_back(grid.axes[axis].key, value);
    next.folder /= folder_name(value);
    combine(grid, axis + 1, std::move(next), runs);
  }
}

bool have_several_recipes(std::span<const Grid> grids) {
  return std::ranges::any_of(grids, [&](const Grid& grid) { return grid.recipe != grids.front().recipe; });
}

void require_same(const PlannedRun& run, const PlannedRun& known) {
  const auto settings_of = [](const PlannedRun& planned) {
    return std::set(planned.settings.begin(), planned.settings.end());
  };
  if (run.recipe == known.recipe && settings_of(run) == settings_of(known)) return;
  throw recipe::RecipeError(run.place + ": expected runs with folders of their own, got \"" + run.folder.string() +
                            "\" for a run other than the one of " + known.place +
                            "; make what differs an axis of both");
}

std::vector<std::string> split_at_commas(const std::string& text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::string axis_names(std::span<const Grid> grids) {
  std::set<std::string> names;
  for (const auto& grid : grids) {
    for (const auto& axis : grid.axes) names.insert(axis.key);
  }
  std::string text;
  for (const auto& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

std::vector<PlannedRun> planned_runs(std::span<const Grid> grids) {
  std::int64_t seeds = 0;
  for (const auto& grid : grids) seeds = std::max(seeds, grid.seeds);
  const bool names_recipe = have_several_recipes(grids);
  std::vector<PlannedRun> runs;
  std::map<std::filesystem::path, std::size_t> known;  // where in `runs`
  for (std::int64_t seed = 0; seed < seeds; ++seed) {
    for (const auto& grid : grids) {
      if (seed >= grid.seeds) continue;
      std::vector<PlannedRun> of_seed;
      combine(grid, 0,
              {.place = grid.place,
               .recipe = grid.recipe,
               .settings = grid.set,
               .folder = names_recipe ? folder_name(grid.recipe) : "",
               .evaluations = grid.evaluations},
              of_seed);
      for (auto& run : of_seed) {
        run.settings.emplace_back("seed", std::to_string(seed));
        run.folder /= "seed-" + std::to_string(seed);
        const auto [first, is_new] = known.emplace(run.folder, runs.size());
        if (is_new) {
          runs.push_back(std::move(run));
        } else {
          require_same(run, runs[first->second]);
        }
      }
    }
  }
  return runs;
}

std::vector<Grid> narrowed(std::vector<Grid> grids, std::span<const std::string> only, std::int64_t seeds) {
  for (const auto& text : only) {
    const auto equals = std::min(text.find('='), text.size());
    const auto key = text.substr(0, equals);
    const auto values = equals < text.size() ? split_at_commas(text.substr(equals + 1)) : std::vector<std::string>{};
    bool is_known = false;
    for (auto& grid : grids) {
      const auto axis = std::ranges::find(grid.axes, key, &Axis::key);
      if (axis == grid.axes.end()) continue;
      is_known = true;
      axis->values = values;
    }
    if (!is_known || values.empty()) {
      throw recipe::RecipeError(
          "--only " + text + ": expected KEY=VALUE,VALUE with a key that this experiment varies: " + axis_names(grids));
    }
  }
  if (seeds > 0) {
    for (auto& grid : grids) grid.seeds = seeds;
  }
  return grids;
}

}  // namespace quest::paper
