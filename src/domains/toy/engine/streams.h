#pragma once

// First names of this engine's random streams.

#include <cstdint>

#include "base/random.h"

namespace quest::toy::engine {

inline constexpr std::uint64_t kDistribution = 1;
inline constexpr std::uint64_t kTrainingSamples = 2;
inline constexpr std::uint64_t kTestSamples = 3;
inline constexpr std::uint64_t kBatchOrder = 4;
inline constexpr std::uint64_t kInitialization = 5;

}  // namespace quest::toy::engine
