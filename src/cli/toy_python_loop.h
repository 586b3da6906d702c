#pragma once

// toy_loop.py, which is compiled in, run by a Python that has torch.

#include <optional>
#include <string>

#include "domains/toy/toy.h"

namespace quest::cli {

struct PythonRate {
  std::optional<double> per_second;  // trainings of all processes together
  std::string why_not;               // where there is no rate
};

// The first formulation of the settings, as many processes as asked for, each on one thread.
[[nodiscard]] PythonRate python_rate(const std::string& python, const toy::ToySettings& settings, int processes,
                                     double seconds);

}  // namespace quest::cli
