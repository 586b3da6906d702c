#include "eval/run_evaluation.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <stdexcept>
#include <variant>

#include "eval/fingerprint.h"
#include "train/engine/evaluation_mode.h"
#include "train/run/evaluation_file.h"
#include "train/run/figure_file.h"

namespace quest::eval {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

constexpr const char* kUnfinishedFolder = "unfinished";

struct JsonWriter {
  Json operator()(const recipe::Word& word) const { return word.text; }
  Json operator()(const recipe::List& list) const {
    Json items = Json::array();
    for (const auto& item : list) items.push_back(std::visit(*this, item));
    return items;
  }
  template <typename T>
  Json operator()(const T& scalar) const {
    return scalar;
  }
};

Json options_of(const recipe::Fields& fields, const std::string& name) {
  Json options = Json::object();
  for (const auto& setting : recipe::settings_of_toml(fields.toml(), name)) {
    options[setting.key.substr(name.size() + 1)] = std::visit(JsonWriter{}, setting.value);
  }
  return options;
}

// Finished parts of other weights or options are of no use to anybody.
void remove_others(const fs::path& folder, const std::string& kept) {
  if (!fs::exists(folder)) return;
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename() != kept) others.push_back(entry.path());
  }
  for (const auto& other : others) fs::remove_all(other);
}

// RUN/evaluations/unfinished/NAME/…: the last part says of what.
fs::path prepare_scratch(const Request& request, const std::string& options, const Subject& subject) {
  const auto folder = request.run / train::kEvaluationFolder / kUnfinishedFolder / request.name;
  const auto text = request.facts.dump() + options + subject.recipe.train.precision;
  std::array<char, 17> name{};
  std::snprintf(name.data(), name.size(), "%016llx",
                static_cast<unsigned long long>(fingerprint(subject.task.model(), text)));
  if (subject.processes.rank() == 0) remove_others(folder, name.data());
  subject.processes.barrier();
  return folder / name.data();
}

void remove_scratch(const fs::path& scratch) {
  std::error_code other_process_did;
  fs::remove_all(scratch, other_process_did);
  for (const auto& empty : {scratch.parent_path(), scratch.parent_path().parent_path()}) {
    fs::remove(empty, other_process_did);
  }
}

void write(const Request& request, Json options, const Findings& findings) {
  auto facts = request.facts;
  if (!options.empty()) facts["options"] = std::move(options);
  for (const auto& figure : findings.figures) train::write_figure(request.run, figure);
  train::write_evaluation(request.run, request.name, facts, Json(findings.metrics));
}

}  // namespace

const EvaluationEntry& find_evaluation(const std::string& name, std::span<const EvaluationEntry> known) {
  const auto found = std::ranges::find(known, name, &EvaluationEntry::name);
  if (found != known.end()) return *found;
  std::vector<std::string> names;
  std::string list;
  for (const auto& entry : known) {
    names.emplace_back(entry.name);
    list += (list.empty() ? "" : ", ") + names.back();
  }
  throw std::invalid_argument("there is no evaluation \"" + name + "\"; the nearest is \"" +
                              recipe::nearest(name, names) + "\" of " + list);
}

std::vector<recipe::Setting> take_settings(std::vector<recipe::Setting>& settings, std::string_view name) {
  const auto prefix = std::string(name) + ".";
  const auto others = std::ranges::stable_partition(
      settings, [&](const recipe::Setting& setting) { return !setting.key.starts_with(prefix); });
  std::vector<recipe::Setting> taken(std::make_move_iterator(others.begin()), std::make_move_iterator(others.end()));
  settings.erase(others.begin(), others.end());
  return taken;
}

Findings run_evaluation(const Request& request, std::span<const EvaluationEntry> known, const Subject& subject,
                        const Callbacks& callbacks) {
  const auto evaluation = find_evaluation(request.name, known).make();
  recipe::Fields fields;
  evaluation->describe(fields);
  fields.apply(request.settings);
  if (const auto obstacle = evaluation->obstacle(subject.task); !obstacle.empty()) {
    throw std::invalid_argument("the evaluation \"" + request.name + "\" " + obstacle + "; the task \"" +
                                subject.recipe.task + "\" does not");
  }
  const train::EvaluationMode mode(subject.task, subject.recipe);
  if (request.run.empty()) return evaluation->run(subject, callbacks);
  const Subject kept{subject.task, subject.recipe, subject.processes, prepare_scratch(request, fields.toml(), subject)};
  auto findings = evaluation->run(kept, callbacks);
  if (subject.processes.rank() == 0) write(request, options_of(fields, request.name), findings);
  subject.processes.barrier();
  remove_scratch(kept.scratch);
  return findings;
}

}  // namespace quest::eval
