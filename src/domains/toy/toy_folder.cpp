#include "domains/toy/toy_folder.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <utility>

#include "domains/toy/toy_read.h"
#include "base/json_number.h"

namespace quest::toy {
namespace {

using Json = nlohmann::ordered_json;
using toy::engine::EpochRecord;

constexpr std::array<std::pair<const char*, float EpochRecord::*>, 8> kSeries = {{
    {"loss", &EpochRecord::loss},
    {"train_accuracy", &EpochRecord::train_accuracy},
    {"test_accuracy", &EpochRecord::test_accuracy},
    {"biased_key_norm", &EpochRecord::biased_key_norm},
    {"unbiased_key_norm", &EpochRecord::unbiased_key_norm},
    {"other_key_norm", &EpochRecord::other_key_norm},
    {"query_norm", &EpochRecord::query_norm},
    {"entropy", &EpochRecord::entropy},
}};

[[noreturn]] void fail_on_file(const std::filesystem::path& file, const std::string& what) {
  throw std::runtime_error(what + " \"" + file.string() + "\" failed: " + std::strerror(errno));
}

void write_all(int file, const std::string& text, const std::filesystem::path& path) {
  for (std::size_t written = 0; written < text.size();) {
    const auto count = ::write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_on_file(path, "writing");
    written += static_cast<std::size_t>(count);
  }
  if (::fsync(file) != 0) fail_on_file(path, "syncing");
}

ToyTraining training_from_json(const nlohmann::json& line) {
  return {.formulation = line.at("formulation").get<std::string>(),
          .learning_rate = line.at("learning_rate").get<double>(),
          .weight_decay = line.at("weight_decay").get<double>(),
          .realization = line.at("realization").get<int>(),
          .initialization = line.at("initialization").get<int>()};
}

std::string difference(const Json& stored, const Json& asked) {
  for (const auto& [key, value] : asked.items()) {
    if (!stored.contains(key)) return key + " (not stored there)";
    if (stored.at(key) != value) return key + " (there " + stored.at(key).dump() + ", asked for " + value.dump() + ")";
  }
  return "";
}

}  // namespace

Json to_json(const ToySettings& settings) {
  return {{"formulations", settings.formulations},
          {"wiring", wiring_name(settings.wiring)},
          {"tokens", settings.sizes.tokens},
          {"samples", settings.sizes.training_samples},
          {"test_samples", settings.sizes.test_samples},
          {"learning_rates", settings.learning_rates},
          {"weight_decays", settings.weight_decays},
          {"realizations", settings.realizations},
          {"initializations", settings.initializations},
          {"seed", settings.seed},
          {"epochs", settings.epochs},
          {"batch", settings.batch}};
}

Json to_json(const ToyResult& result) {
  Json series = Json::object();
  for (const auto& [name, member] : kSeries) {
    Json values = Json::array();
    for (const EpochRecord& epoch : result.figures.epochs) values.push_back(base::short_number(epoch.*member));
    series[name] = std::move(values);
  }
  return {{"formulation", result.training.formulation},
          {"learning_rate", result.training.learning_rate},
          {"weight_decay", result.training.weight_decay},
          {"realization", result.training.realization},
          {"initialization", result.training.initialization},
          {"outcome", outcome_name(result.outcome())},
          {"train_accuracy", base::short_number(result.figures.train_accuracy)},
          {"test_accuracy", base::short_number(result.figures.test_accuracy)},
          {"epochs", std::move(series)}};
}

ToyResult result_from_json(const nlohmann::json& line) {
  ToyResult result{.training = training_from_json(line)};
  result.figures.train_accuracy = line.at("train_accuracy").get<float>();
  result.figures.test_accuracy = line.at("test_accuracy").get<float>();
  const auto& series = line.at("epochs");
  result.figures.epochs.resize(series.at("loss").size());
  for (const auto& [name, member] : kSeries) {
    const auto& values = series.at(name);
    if (values.size() != result.figures.epochs.size()) {
      throw std::invalid_argument(std::string(name) + " has another number of epochs than loss");
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      result.figures.epochs[i].*member = static_cast<float>(base::number_or_nan(values[i]));
    }
  }
  return result;
}

ToyFolder::ToyFolder(std::filesystem::path path, const ToySettings& settings, const std::string& program)
    : path_(std::move(path)), settings_(settings) {
  std::error_code error;
  std::filesystem::create_directories(path_, error);
  if (error) {
    throw std::runtime_error("the run folder \"" + path_.string() + "\" cannot be created: " + error.message() +
                             "; choose another");
  }
  claim(program);
  finished_ = read_toy_results(path_, settings_);
  const auto file = path_ / kToyResultsFile;
  file_ = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
  if (file_ < 0) fail_on_file(file, "opening");
}

ToyFolder::~ToyFolder() {
  if (file_ >= 0) ::close(file_);
}

// Writes the settings into a new folder, and holds a folder that has some to them.
void ToyFolder::claim(const std::string& program) const {
  const auto file = path_ / kToySettingsFile;
  const Json asked = to_json(settings_);
  if (std::ifstream stream(file); stream) {
    const Json stored = Json::parse(stream, nullptr, false);
    if (stored.is_discarded() || !stored.contains("settings")) {
      throw std::runtime_error("\"" + file.string() +
                               "\" was expected to hold the settings of a run and does not; choose another folder");
    }
    if (const auto text = difference(stored.at("settings"), asked); !text.empty()) {
      throw std::runtime_error("the folder \"" + path_.string() + "\" holds a run with another " + text +
                               "; choose another folder, or ask for the same");
    }
    if (stored.value(kToyFinalNorm, Json(false)) != has_final_norm(settings_.wiring)) {
      throw std::runtime_error("the folder \"" + path_.string() +
                               "\" holds a run of an earlier version, whose pre-norm models had no norm before the "
                               "classifier; choose another folder");
    }
    return;
  }
  const Json content = {{"experiment", "toy"},
                        {"program", program},
                        {kToyFinalNorm, has_final_norm(settings_.wiring)},
                        {"settings", asked}};
  std::ofstream stream(file);
  stream << content.dump(2) << "\n" << std::flush;
  if (!stream) fail_on_file(file, "writing");
}

void ToyFolder::add(std::span<const ToyResult> results) {
  std::string lines;
  for (const ToyResult& result : results) lines += to_json(result).dump() + "\n";
  write_all(file_, lines, path_ / kToyResultsFile);
  finished_.insert(finished_.end(), results.begin(), results.end());
}

std::vector<ToyResult> ToyFolder::results() const { return in_order_of_trainings(settings_, finished_); }

std::vector<ToyTraining> ToyFolder::unfinished() const {
  std::set<ToyTraining> done;
  for (const ToyResult& result : finished_) done.insert(result.training);
  auto trainings = trainings_of(settings_);
  std::erase_if(trainings, [&](const ToyTraining& training) { return done.contains(training); });
  return trainings;
}

}  // namespace quest::toy
