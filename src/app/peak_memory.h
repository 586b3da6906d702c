#pragma once

#include <functional>

namespace quest::app {

// The most bytes that torch's allocators held at once during `action`, beyond what they held before it.
[[nodiscard]] double peak_bytes(const std::function<void()>& action);

}  // namespace quest::app
