#include "cli/toy_python_loop.h"

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "domains/toy/toy_loop.h"

namespace quest::cli {
namespace {

std::string loop_settings(const toy::ToySettings& settings, int processes, double seconds) {
  using toy::engine::Gain;
  const auto model = toy::toy_model(formulation_from_name(settings.formulations.front()), settings.wiring,
                                            settings.sizes.tokens);
  const auto* gain = model.gain == Gain::none ? "none" : model.gain == Gain::logarithm ? "logarithm" : "per_dim";
  return nlohmann::json{{"wiring", toy::wiring_name(settings.wiring)},
                        {"normalize_q", model.normalize_q},
                        {"normalize_k", model.normalize_k},
                        {"scale", model.scale},
                        {"gain", gain},
                        {"tokens", settings.sizes.tokens},
                        {"samples", settings.sizes.training_samples},
                        {"batch", settings.batch},
                        {"epochs", settings.epochs},
                        {"processes", processes},
                        {"seconds", seconds}}
      .dump();
}

// One word for the shell, whatever it holds.
std::string shell_word(std::string_view text) {
  std::string word = "'";
  for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return word + "'";
}

struct Answer {
  bool succeeded = false;
  std::string last_line;  // of standard output and standard error together
};

Answer answer_of(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {.last_line = "no process could be started"};
  std::string output;
  std::array<char, 4096> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) output += buffer.data();
  const bool succeeded = ::pclose(pipe) == 0;
  while (output.ends_with('\n')) output.pop_back();
  return {succeeded, output.substr(output.rfind('\n') + 1)};
}

}  // namespace

PythonRate python_rate(const std::string& python, const toy::ToySettings& settings, int processes,
                       double seconds) {
  const auto [succeeded, line] = answer_of(shell_word(python) + " -c " + shell_word(kToyLoop) + " " +
                                           shell_word(loop_settings(settings, processes, seconds)));
  if (succeeded) return {.per_second = std::stod(line)};
  return {.why_not = "\"" + python + "\" said: " + (line.empty() ? "nothing" : line) +
                     "; name a Python that has torch with --python"};
}

}  // namespace quest::cli
