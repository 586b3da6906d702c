#pragma once

// toy_loop.py, which is compiled in, run by a Python that has torch.

#include <string>

#include "domains/toy/spurious_settings.h"

namespace quest::toy {

// Of so many processes together, each on one thread. Throws std::runtime_error with what Python said where there is no
// rate.
[[nodiscard]] double python_trainings_per_second(const SpuriousSettings& settings, const std::string& python,
                                                 int processes);

}  // namespace quest::toy
