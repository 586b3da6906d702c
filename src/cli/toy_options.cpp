#include "cli/toy_options.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <thread>

#include "app/machine.h"
#include "app/usage_error.h"

namespace quest::cli {

using experiments::Wiring;

void add_toy_model_options(CLI::App& command, ToyOptions& options) {
  auto& settings = options.settings;
  options.threads = app::default_threads();
  command.add_option("--wiring", options.wiring, "The block: pre-norm (usual), or algorithm (the paper's listing)")
      ->capture_default_str();
  command.add_option("--tokens", settings.sizes.tokens, "Tokens of a sequence, without CLS")->capture_default_str();
  command.add_option("--samples", settings.sizes.training_samples, "Training samples")->capture_default_str();
  command.add_option("--test-samples", settings.sizes.test_samples, "Test samples, none of them biased")
      ->capture_default_str();
  command.add_option("--epochs", settings.epochs, "Epochs of a training")->capture_default_str();
  command.add_option("--batch", settings.batch, "Samples of a batch")->capture_default_str();
  command.add_option("--seed", settings.seed, "Names data, batch orders and initialisations")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{0}, std::numeric_limits<std::int64_t>::max()));
  command.add_option("--threads", options.threads, "Threads of the CPU; the results do not depend on them")
      ->capture_default_str()
      ->check(CLI::Range(1, 1024));
}

toy::ToySettings resolved_settings(const ToyOptions& options) {
  auto settings = options.settings;
  const auto wiring = {Wiring::pre_norm, Wiring::algorithm};
  const auto* found = std::ranges::find(wiring, options.wiring, toy::wiring_name);
  if (found == wiring.end()) {
    throw app::UsageError("--wiring: expected pre-norm or algorithm, got \"" + options.wiring + "\"");
  }
  settings.wiring = *found;
  try {
    toy::check(settings);
  } catch (const std::invalid_argument& error) {
    throw app::UsageError(error.what());
  }
  return settings;
}

}  // namespace quest::cli
