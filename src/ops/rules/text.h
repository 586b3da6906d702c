#pragma once

#include <string>

namespace quest::ops {

// The library's version, formulations, learned gains, limits, obstacles and the defaults of the explosion warning as
// one JSON object.
[[nodiscard]] std::string rules_as_json();

}  // namespace quest::ops
