#include "synthetic_training.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "train/run/run_folder.h"
#include "train/run/run_log.h"

namespace quest::report {
namespace {

constexpr std::int64_t kGrowthStart = 400;

double wave(std::int64_t a, std::int64_t b) { return std::sin(static_cast<double>(a) * 0.7 + static_cast<double>(b)); }

train::LayerRecord record(const SyntheticTraining& training, std::int64_t step, std::int64_t layer) {
  train::LayerRecord record{.step = step, .layer = "blocks." + std::to_string(layer) + ".attn"};
  const double done = static_cast<double>(step) / 600.0;
  for (std::int64_t head = 0; head < training.heads; ++head) {
    const bool explodes = training.crashes && layer == 1 && head == 2 && step > kGrowthStart;
    const double growth = explodes ? std::exp2(static_cast<double>(step - kGrowthStart) / 30.0) : 1.0;
    const double key_norm = (3.0 + 2.0 * done + 0.2 * wave(step, head)) * growth;
    record.max_logit.push_back((4.0 + 8.0 * std::sqrt(done) + wave(step, layer + head)) * growth);
    record.query_norm.push_back(5.0 + done);
    record.key_norm.push_back(key_norm);
    record.entropy.push_back(explodes ? 0.1 : 3.5 - done - 0.3 * wave(head, layer));
    record.sink.push_back(explodes ? 0.9 : 0.05 + 0.1 * done + 0.02 * wave(head, layer));
    record.query_norms.push_back({3, 4, 5, 6, 7});
    record.key_norms.push_back({1, 2, key_norm / 2.0, 4, 5});
  }
  return record;
}

}  // namespace

void write_synthetic_training(const std::filesystem::path& folder_path, const SyntheticTraining& training) {
  const train::RunFolder folder(folder_path);
  const std::string status = training.crashes ? "crashed at iteration " + std::to_string(training.steps) : "finished";
  folder.update({{"task", "image"},
                 {"recipe", "fashion-mnist-tiny"},
                 {"seed", 7},
                 {"status", status},
                 {"command", "quest train image --set model.name=\"<b>\""},
                 {"device", "cpu"},
                 {"parameters", 123456}});
  std::ofstream(folder / train::kRecipeFile) << "task = \"image\"\nseed = 7\n\n[model]\nname = \"<b>\" # bold\n";
  train::RunLog log(folder, 0);
  for (std::int64_t step = 1; step <= training.steps; ++step) {
    const double done = static_cast<double>(step) / 600.0;
    const bool ends_badly = training.crashes && step == training.steps;
    const double blow_up = training.crashes ? std::exp2(std::max(0.0, static_cast<double>(step) - 570.0) / 2.0) : 1.0;
    if (step % 10 == 0) {
      for (std::int64_t layer = 0; layer < training.layers; ++layer) log.add_layer(record(training, step, layer));
    }
    log.add_step({.step = step,
                  .epoch = static_cast<double>(step) / 100.0,
                  .loss = ends_badly ? std::numeric_limits<double>::quiet_NaN()
                                     : (2.3 * std::exp(-3.0 * done) + 0.1 + 0.03 * wave(step, 1)) * std::sqrt(blow_up),
                  .lr = 1e-3 * std::min(static_cast<double>(step) / 60.0, 0.5 + 0.5 * std::cos(3.14 * done)),
                  .grad_norm = (1.0 + 0.2 * wave(step, 2)) * blow_up,
                  .samples_per_second = 900.0 + 20.0 * wave(step, 3)},
                 step % 5 == 0);
    if (step % 100 == 0 && !ends_badly) {
      log.add_evaluation(step, static_cast<double>(step) / 100.0,
                         {{"accuracy", 0.9 - 0.5 * std::exp(-4.0 * done)}, {"loss", 0.3 + std::exp(-3.0 * done)}});
    }
  }
  if (training.crashes) log.write_crash(training.steps, "loss is nan");
}

}  // namespace quest::report
