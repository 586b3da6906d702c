#pragma once

// The layers below throw std::runtime_error, all the stable ABI allows; users of LibTorch catch c10::Error.

#include <c10/util/Exception.h>

#include <stdexcept>
#include <utility>

namespace quest {

template <typename Function>
auto with_torch_errors(Function&& function) {
  try {
    return std::forward<Function>(function)();
  } catch (const std::runtime_error& error) {
    TORCH_CHECK(false, error.what());
  }
}

}  // namespace quest
