#pragma once

// What `make` draws from torch's generator depends on the seed alone, also where threads make such things at once.

#include <torch/utils.h>

#include <cstdint>
#include <mutex>

namespace quest::testing {

inline std::mutex& generator_mutex() {
  static std::mutex mutex;
  return mutex;
}

template <typename Make>
auto seeded(std::uint64_t seed, const Make& make) {
  const std::scoped_lock lock(generator_mutex());
  torch::manual_seed(seed);
  return make();
}

}  // namespace quest::testing
