#include "domains/toy/python_rate.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <vector>

#include "base/children.h"
#include "base/scratch_folder.h"
#include "domains/toy/toy_loop.h"

namespace quest::toy {
namespace {

constexpr double kSeconds = 5.0;                      // of measured steps
constexpr const char* kFindsOnPath = "/usr/bin/env";  // "python3" may be asked for

std::string loop_settings(const SpuriousSettings& settings, int processes) {
  using engine::Gain;
  const auto model = model_of(settings);
  const auto* gain = model.gain == Gain::none ? "none" : model.gain == Gain::logarithm ? "logarithm" : "per_dim";
  return nlohmann::json{{"wiring", wiring_name(model.wiring)},
                        {"normalize_q", model.normalize_q},
                        {"normalize_k", model.normalize_k},
                        {"scale", model.scale},
                        {"gain", gain},
                        {"tokens", settings.sizes.tokens},
                        {"samples", settings.sizes.training_samples},
                        {"batch", settings.batch_size},
                        {"epochs", settings.epochs},
                        {"processes", processes},
                        {"seconds", kSeconds}}
      .dump();
}

}  // namespace

double python_trainings_per_second(const SpuriousSettings& settings, const std::string& python, int processes) {
  const base::ScratchFolder folder("quest-toy-loop");
  const base::Child loop{
      .arguments = {kFindsOnPath, python, "-c", std::string(kToyLoop), loop_settings(settings, processes)},
      .log = folder / "log"};
  int exit_code = 0;
  base::run_children({&loop, 1}, 1, {}, {.on_end = [&exit_code](std::size_t, int code) { exit_code = code; }});
  const auto answer = base::last_line(loop.log);
  double rate = 0.0;
  const auto end = answer.data() + answer.size();
  const bool is_number = std::from_chars(answer.data(), end, rate).ptr == end && !answer.empty();
  if (exit_code == 0 && is_number) return rate;
  throw std::runtime_error("\"" + python + "\" could not run the PyTorch loop and said: " +
                           (answer.empty() ? "nothing" : answer) + "; name a Python that has torch with --python");
}

}  // namespace quest::toy
