#include "app/run_start.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/usage_error.h"
#include "base/atomic_file.h"

namespace quest::app {
std::vector<recipe::Setting> settings_of(const RunRequest& request) {
  if (!request.recipe.empty()) return settings_of(request.recipe, request.assignments);
  const auto stored = request.folder / train::kRecipeFile;
  if (!request.resume || !std::filesystem::exists(stored)) {
    throw UsageError("expected --recipe NAME or FILE; `quest recipes` lists those that come with the program");
  }
  return settings_of(stored.string(), request.assignments);
}

void check_run(const RunRequest& request, const train::RunFolder& folder, const TaskRecipe& recipe) {
  if (!folder.holds_run()) return;
  const std::string name = request.folder.string();
  if (!request.resume) {
    const auto run = train::read_run_file(folder.path());
    throw UsageError("the folder \"" + name + "\" holds a run already (" + run.value("status", "never begun") +
                     "); go on with it by --resume, or choose another folder with --run");
  }
  const TaskRecipe there(find_task(recipe.recipe().task), settings_of((folder / train::kRecipeFile).string(), {}));
  if (const auto text = differences(there, recipe); !text.empty()) {
    throw UsageError("the run in \"" + name + "\" was started with another recipe:" + text +
                     "\nResume it without --recipe and --set, or choose another folder with --run");
  }
}

void describe_run(const train::RunFolder& folder, const TaskRecipe& recipe, const nlohmann::ordered_json& facts) {
  base::write_atomically(folder / train::kRecipeFile, recipe.fields().toml());
  nlohmann::ordered_json run = {{"task", recipe.recipe().task}, {"seed", recipe.recipe().seed}};
  run.update(facts);
  run["command"] = command_line();
  run["started"] = train::utc_now();
  folder.update(run);
}

std::string command_line() {
  std::ifstream file("/proc/self/cmdline");
  std::string line{std::istreambuf_iterator<char>(file), {}};
  std::ranges::replace(line, '\0', ' ');
  if (!line.empty()) line.pop_back();
  return line;
}

}  // namespace quest::app
