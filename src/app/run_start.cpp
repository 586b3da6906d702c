#include "app/run_start.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "app/usage_error.h"
#include "base/atomic_file.h"

namespace quest::app {

std::vector<recipe::Setting> settings_of(const RunRequest& request) {
  const auto stored = request.folder / train::kRecipeFile;
  const bool asks = !request.recipe.empty();
  if (!asks && (!request.resume || !std::filesystem::exists(stored))) {
    throw UsageError("\"" + request.folder.string() +
                     "\" holds no run to go on with; name a recipe, of which `quest recipes` lists some");
  }
  const auto recipe = asks ? request.recipe : stored.string();
  const auto plain = settings_of(recipe, {});
  if (const auto task = task_of(plain); !task.empty()) {
    return settings_of(recipe, assignments_of(request.options, find_task(task)));
  }
  return plain;
}

void check_run(const RunRequest& request, const TaskRecipe& recipe) {
  if (!std::filesystem::exists(request.folder / train::kRunFile)) return;
  const std::string name = request.folder.string();
  if (!request.resume) {
    const auto run = train::read_run_file(request.folder);
    throw UsageError("the folder \"" + name + "\" holds a run already (" + run.value("status", "never begun") +
                     "); go on with it by --resume, or choose another folder with --run");
  }
  const TaskRecipe there(settings_of((request.folder / train::kRecipeFile).string(), {}));
  if (const auto text = differences(there, recipe); !text.empty()) {
    throw UsageError("the run in \"" + name + "\" was started with another recipe:" + text +
                     "\nResume it without recipe and --set, or choose another folder with --run");
  }
}

void describe_run(const train::RunFolder& folder, const TaskRecipe& recipe, const nlohmann::ordered_json& facts) {
  base::write_atomically(folder / train::kRecipeFile, recipe.fields().toml());
  nlohmann::ordered_json run = {{"task", recipe.entry().name}};
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
