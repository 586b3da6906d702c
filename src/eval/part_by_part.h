#pragma once

// A long computation in numbered parts, each of which gives a few numbers: the processes share them out, and what is
// done is kept, whatever then happens and however many processes go on.

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "eval/evaluation.h"

namespace quest::eval {

struct Parts {
  std::string name;  // of their file, and for who watches
  std::int64_t count = 0;
  std::int64_t width = 0;  // numbers of one part
};

// The numbers of all parts, the same in every process. A part's must not depend on the process that computes it. Throws
// Stopped, in every process, where one was asked to stop.
[[nodiscard]] std::vector<std::vector<double>> part_by_part(
    const Subject& subject, const Callbacks& callbacks, const Parts& parts,
    const std::function<std::vector<double>(std::int64_t part)>& compute);

}  // namespace quest::eval
